// What descriptions and segments mean: the reference computes equal things equally, the fast paths name what they lack.
#include <gtest/gtest.h>

#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

const BackendOptions kReference{Device::ref(), Precision::fp32, 1, ""};
const BackendOptions kFast{Device::cpu(), Precision::fp32, 1, ""};
constexpr View kEverything{View::Kind::all};

constexpr Sizes kSmall{.hidden = 16, .heads = 2, .intermediate = 24, .layers = 2, .vocabulary = 50, .positions = 64};

using Ids = std::vector<std::int32_t>;

Ids counted(std::int32_t first, std::size_t count) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

float score(const Backend& backend, std::span<const Segment> shared, std::span<const Segment> candidate) {
  const std::span<const Segment> candidates[] = {candidate};
  float logit = std::nanf("");
  backend.score({shared, candidates}, {&logit, 1});
  return logit;
}

class Segments : public ::testing::Test {
 protected:
  RandomModel model_{kSmall};
  const Ids first_{1}, query_{5, 6, 7}, document_{10, 11, 12, 13, 14, 15};
  const Ids positions_ = counted(0, 10);
  const std::span<const std::int32_t> places_{positions_};
  const std::vector<Segment> shared_{{kCls, first_, places_.first(1)}, {kQuery, query_, places_.subspan(1, 3)}};
  const Segment rest_{kDocument, document_, places_.subspan(4), 1};
};

TEST_F(Segments, TokensMayBeGatheredIntoOtherSegmentsAndGroups) {
  AttentionPattern windowed;
  windowed.window = 2;
  for (const AttentionPattern& pattern : {AttentionPattern{}, windowed}) {
    model_.set_pattern(pattern);
    const float whole = score(*model_.on(kReference), shared_, {&rest_, 1});
    const Ids even_ids{10, 12, 14}, even{4, 6, 8}, odd_ids{11, 13, 15}, odd{5, 7, 9};
    std::vector<Segment> gathered{{kDocument, odd_ids, odd, 1}, {kDocument, even_ids, even, 1}};
    EXPECT_NEAR(score(*model_.on(kReference), shared_, gathered), whole, 1e-6);
    // A fourth group that sees, and is seen, like the document.
    RandomModel other(kSmall, pattern);
    other.description.groups.push_back({"even", Dependence::pair});
    other.description.stacks[0].groups.push_back(3);
    for (Layer& layer : other.layers()) {
      Views& views = layer.attentions[0].views;
      for (auto& of_group : views) of_group.push_back(of_group[kDocument]);
      views.push_back(views[kDocument]);
    }
    gathered[1].group = 3;
    EXPECT_NEAR(score(*other.on(kReference), shared_, gathered), whole, 1e-6);
    // Its own view is also used.
    other.layers()[0].attentions[0].views[kDocument][3] = {};
    EXPECT_GT(std::abs(score(*other.on(kReference), shared_, gathered) - whole), 1e-4);
  }
}

TEST_F(Segments, PositionsAndTypesAreTheSegments) {
  for (const BackendOptions& options : {kReference, kFast}) {
    const auto backend = model_.on(options);
    const float usual = score(*backend, shared_, {&rest_, 1});
    Segment changed = rest_;
    changed.type = 0;
    EXPECT_GT(std::abs(score(*backend, shared_, {&changed, 1}) - usual), 1e-4);
    changed = rest_;
    const Ids later = counted(30, 6);
    changed.positions = later;
    EXPECT_GT(std::abs(score(*backend, shared_, {&changed, 1}) - usual), 1e-4);
    EXPECT_NEAR(score(*backend, shared_, {&changed, 1}), score(*model_.on(kReference), shared_, {&changed, 1}), 1e-4);
  }
}

TEST_F(Segments, OutsideTheirTablesOrInTheWrongPlaceAreRefused) {
  for (const BackendOptions& options : {kReference, kFast}) {
    const auto backend = model_.on(options);
    const auto refuse = [&](const std::vector<std::string>& words, const auto& spoil) {
      Segment spoilt = rest_;
      spoil(spoilt);
      expect_error(ErrorKind::usage, words, [&] { score(*backend, shared_, {&spoilt, 1}); });
    };
    const Ids beyond = counted(59, 6), below = counted(-1, 6);
    refuse({"document 0", "65 tokens", "64 rows"}, [&](Segment& s) { s.positions = beyond; });
    refuse({"document 0", "position -1"}, [&](Segment& s) { s.positions = below; });
    refuse({"document 0", "token type 2"}, [](Segment& s) { s.type = 2; });
    refuse({"document 0", "5 positions for 6 ids"}, [](Segment& s) { s.positions = s.positions.first(5); });
    refuse({"unknown group 3"}, [](Segment& s) { s.group = 3; });
    refuse({"query", "must be a shared segment"}, [](Segment& s) { s.group = kQuery; });
    const std::vector<Segment> document{rest_};
    expect_error(ErrorKind::usage, {"document", "must not be a shared segment"}, [&] {
      score(*backend, document, {&rest_, 1});
    });
  }
}

TEST_F(Segments, ThatTheFastPathCannotRunAreRefusedByIt) {
  AttentionPattern windowed;
  windowed.window = 2;
  model_.set_pattern(windowed);
  const auto backend = model_.on(kFast), truth = model_.on(kReference);
  const auto refuse = [&](const std::string& words, std::span<const Segment> shared, std::span<const Segment> rest) {
    expect_error(ErrorKind::unsupported, {words}, [&] { score(*backend, shared, rest); });
    EXPECT_TRUE(std::isfinite(score(*truth, shared, rest))) << words;
  };
  const Ids gaps{4, 6, 8, 10, 12, 14}, two{1, 2};
  Segment document = rest_;
  document.positions = gaps;
  refuse("not consecutive", shared_, {&document, 1});
  refuse("2 segments", shared_, std::vector{rest_, rest_});
  refuse("query", std::span(shared_).first(1), {&rest_, 1});
  std::vector<Segment> shared = shared_;
  shared.push_back(shared_[1]);
  refuse("several segments of one group", shared, {&rest_, 1});
  shared = shared_;
  shared[0] = {kCls, two, places_.first(2)};
  refuse("not one token", shared, {&rest_, 1});
  const std::vector<float> states(6 * 16, 0.5F);
  document = rest_;
  document.ids = {};
  document.states = states;
  refuse("given by states", shared_, {&document, 1});
}

TEST_F(Segments, MoreTokensThanPositionsDoNotFitTheFastPath) {
  const Ids many(70, 3), one_place(70, 4);
  const Segment document{kDocument, many, one_place, 1};
  expect_error(ErrorKind::usage, {"document 0", "74 tokens"}, [&] {
    score(*model_.on(kFast), shared_, {&document, 1});
  });
}

// A batch's last states are another batch's first ones.
TEST_F(Segments, StatesComputedEarlierStandForIds) {
  const std::span<const Segment> candidates[] = {{&rest_, 1}};
  const HiddenStates whole = model_.on(kReference)->hidden_states({shared_, candidates});
  RandomModel second = std::move(model_);
  second.layers().erase(second.layers().begin());
  second.layer_weights().erase(second.layer_weights().begin());
  std::vector<Segment> shared = shared_;
  Segment document = rest_;
  Segment* const segments[] = {&shared[0], &shared[1], &document};
  for (std::size_t i = 0; i < 3; ++i) {
    segments[i]->ids = {};
    segments[i]->states = whole.layers[0][i];
  }
  EXPECT_NEAR(score(*second.on(kReference), shared, {&document, 1}), whole.logit, 1e-6);
}

// MixEncoder: a candidate's states see the keys that the query's own layer computes.
TEST(KeysOfALayer, AreThoseThatTheOtherStackComputes) {
  RandomModel model(kSmall);
  EncoderDescription& description = model.description;
  description.groups = {{"candidate", Dependence::candidate}, {"query", Dependence::query}};
  description.stacks[0].groups = {1};
  for (Layer& layer : description.stacks[0].layers) layer.attentions[0].views = {{}, {{}, kEverything}};
  Stack interaction{{0}, {description.stacks[0].layers[1]}};
  interaction.layers[0].attentions[0].views = {{kEverything, kEverything}, {}};
  interaction.layers[0].attentions[0].keys_of_layer = 1;
  description.stacks.push_back(interaction);
  model.weights.stacks.push_back({{model.layer_weights()[1]}, {}});
  const Ids query{5, 6, 7}, positions = counted(0, 3);
  const std::vector<float> states = random_numbers(2 * 16);
  const std::vector<Segment> shared{{1, query, positions}};
  const Segment candidate{0, {}, std::span(positions).first(2), 0, states};
  const std::span<const Segment> candidates[] = {{&candidate, 1}};
  const HiddenStates found = model.on(kReference)->hidden_states({shared, candidates});

  // The same in one stack: both enter the second layer together.
  RandomModel together(kSmall);
  together.description.groups = description.groups;
  together.layers().erase(together.layers().begin());
  together.layer_weights().erase(together.layer_weights().begin());
  together.description.stacks[0].groups = {0, 1};
  together.layers()[0].attentions[0].views = {{kEverything, kEverything}, {{}, kEverything}};
  const std::vector<Segment> earlier{{1, {}, positions, 0, found.layers[0][0]}};
  EXPECT_NEAR(score(*together.on(kReference), earlier, {&candidate, 1}), found.logit, 1e-6);

  // Keys of the query's output would be others.
  description.stacks[1].layers[0].attentions[0].keys_of_layer.reset();
  EXPECT_GT(std::abs(score(*model.on(kReference), shared, {&candidate, 1}) - found.logit), 1e-4);
}

TEST(Across, ScoresDependOnTheOtherCandidatesButNotOnTheirOrder) {
  RandomModel model(kSmall);
  for (Layer& layer : model.layers()) layer.attentions[0].views[kCls][kCls] = {View::Kind::across};
  const auto backend = model.on(kReference);
  const Pairs pairs{{5, 6}, {{10, 11, 12}, {20, 21}, {30}}}, turned{{5, 6}, {{30}, {20, 21}, {10, 11, 12}}},
      alone{{5, 6}, {{10, 11, 12}}};
  const std::vector<float> found = pairs.logits(*backend), other = turned.logits(*backend);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], other[2 - i], 1e-6);
  EXPECT_GT(std::abs(found[0] - alone.logits(*backend)[0]), 1e-4);
}

/// A model with weights for whatever a description may add.
RandomModel with_more_weights() {
  RandomModel model(kSmall);
  model.weights.head_steps[0].norm = model.weights.embedding_norm;
  model.weights.head_steps[0].residual = model.weights.head_steps[0].dense;
  StackWeights& stack = model.weights.stacks[0];
  stack.final_norm = model.weights.embedding_norm;
  for (LayerWeights& layer : stack.layers) {
    layer.feed_forward.gate = layer.feed_forward.in;
    layer.attentions[0].relative_bias = layer.attentions[0].query.weight;
    layer.attentions[0].relative_bias.shape = {8, 2};
  }
  return model;
}

TEST(FastPath, ComputesWhatTheReferenceDoes) {
  const auto compute = [](const std::string& name, const auto& change) {
    RandomModel model = with_more_weights();
    change(model);
    const Pairs pairs = random_pairs(model, 3, {4, 1, 30, 7});
    const std::vector<float> expected = pairs.logits(*model.on(kReference)), logits = pairs.logits(*model.on(kFast));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-4) << name << ", " << i;
  };
  const auto compute_in_layers = [&](const std::string& name, const auto& change) {
    compute(name, [&](RandomModel& model) {
      for (Layer& layer : model.layers()) change(layer);
    });
  };
  compute("no position table", [](auto& m) {
    m.description.max_positions = 0;
    m.weights.position_embeddings = {};
  });
  compute("no token types", [](auto& m) {
    m.description.token_types = 0;
    m.weights.token_type_embeddings = {};
  });
  compute("no embedding norm", [](auto& m) { m.description.embedding_norm = false; });
  compute("RMSNorm", [](auto& m) { m.description.norm_kind = NormKind::rms; });
  compute("head on all tokens", [](auto& m) { m.description.head.groups = {kCls, kQuery, kDocument}; });
  compute("head's scale", [](auto& m) { m.description.head.scale = 0.5; });
  compute("no step in the head", [](auto& m) { m.description.head.steps = {}, m.weights.head_steps = {}; });
  compute("no dense layer", [](auto& m) { m.description.head.steps[0].size = 0; });
  compute("GELU in the head", [](auto& m) { m.description.head.steps[0].activation = Activation::gelu_erf; });
  compute("norm in the head", [](auto& m) { m.description.head.steps[0].norm = true; });
  for (const auto residual : {HeadStep::Residual::input, HeadStep::Residual::projected}) {
    compute("residual in the head", [residual](auto& m) { m.description.head.steps[0].residual = residual; });
  }
  compute("several steps in the head", [](auto& m) {
    m.description.head.steps = {{.size = 24, .norm = true, .norm_epsilon = 0.1F}, {.norm = true}};
    m.weights.head_steps.assign(2, {});
    m.weights.head_steps[0] = {m.layer_weights()[0].feed_forward.in, {}, {{}, {}}};
    static const RandomModel wide({.hidden = 24, .heads = 2});
    m.weights.head_steps[0].norm = m.weights.head_steps[1].norm = wide.weights.embedding_norm;
    m.weights.head_output = wide.weights.head_output;
  });
  compute("several outputs", [](auto& m) {
    m.description.head.outputs = 2;
    m.weights.head_output = {m.weights.head_steps[0].dense.weight, {}};
    m.weights.head_output.weight.shape = {2, 16};
  });
  compute("pre-norm", [](auto& m) {
    m.description.stacks[0].final_norm = true;
    for (Layer& layer : m.layers()) layer.attentions[0].norm = layer.feed_forward.norm = NormPlacement::before;
  });
  compute_in_layers("gate", [](Layer& l) { l.feed_forward.gated = true; });
  for (const Activation activation : {Activation::relu, Activation::silu, Activation::gelu_tanh, Activation::gelu_10,
                                      Activation::quick_gelu, Activation::mish, Activation::none, Activation::tanh}) {
    compute_in_layers("activation", [&](Layer& l) { l.feed_forward.activation = activation; });
  }
  compute_in_layers("scale", [](Layer& l) { l.attentions[0].scale = 1; });
  compute_in_layers("RoPE", [](Layer& l) { l.attentions[0].positions = {PositionScheme::Kind::rotary, 10000}; });
  compute_in_layers("relative positions", [](Layer& l) {
    l.attentions[0].positions = {PositionScheme::Kind::relative_buckets, 0, 8, 20};
  });
  compute("relative positions in one layer, with a window", [](auto& m) {
    m.layers()[0].attentions[0].positions = {PositionScheme::Kind::relative_buckets, 0, 8, 20};
    m.layers()[0].attentions[0].views[kDocument][kDocument] = {View::Kind::window, 2};
  });
  compute("relative positions with a wide window", [](auto& m) {
    m.layers()[1].attentions[0].positions = {PositionScheme::Kind::relative_buckets, 0, 8, 20};
    m.layers()[1].attentions[0].views[kDocument][kDocument] = {View::Kind::window, 20};
  });
  compute("disentangled attention", [](auto& m) { m.disentangle(); });
  compute("convolution", [](auto& m) { m.convolve(); });
  compute_in_layers("window outside the document", [](Layer& l) {
    l.attentions[0].views[kQuery][kDocument] = {View::Kind::window, 3};
  });
  compute("embedding projection", [](auto& m) {
    static const RandomModel wide({.hidden = 24, .heads = 2});
    m.description.embedding_size = 24;
    m.weights.word_embeddings = wide.weights.word_embeddings;
    m.weights.position_embeddings = wide.weights.position_embeddings;
    m.weights.position_embeddings.shape[0] = 64;
    m.weights.token_type_embeddings = wide.weights.token_type_embeddings;
    m.weights.embedding_norm = wide.weights.embedding_norm;
    m.weights.embedding_projection = {wide.weights.head_steps[0].dense.weight, {}};
    m.weights.embedding_projection.weight.shape = {16, 24};
  });
  compute("narrow heads", [](auto& m) {
    for (std::size_t i = 0; i < 2; ++i) {
      m.layers()[i].attentions[0].head_size = 4;
      m.layers()[i].attentions[0].scale = 0.5;
      AttentionWeights& weights = m.layer_weights()[i].attentions[0];
      for (LinearWeights* linear : {&weights.query, &weights.key, &weights.value}) {
        linear->weight.shape = {8, 16};
        linear->bias.shape = {8};
      }
      weights.output.weight.shape = {16, 8};
    }
  });
}

/// T5's form: Q and D through two pre-norm layers with relative positions, then one token through two layers of a
/// decoder. Heads are narrower than the states.
RandomModel with_decoder(const AttentionPattern& pattern) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 48, .layers = 4, .vocabulary = 50, .positions = 64});
  EncoderDescription& d = model.description;
  d.max_positions = d.token_types = 0;
  model.weights.position_embeddings = model.weights.token_type_embeddings = {};
  d.embedding_norm = false;
  d.norm_kind = NormKind::rms;
  d.head = {.groups = {kCls}, .scale = 0.3, .outputs = 2};
  model.weights.head_output = {model.weights.head_steps[0].dense.weight, {}};
  model.weights.head_steps = {};
  model.weights.head_output.weight.shape = {2, 32};
  std::vector<LayerWeights> layers = std::move(model.layer_weights());
  for (LayerWeights& layer : layers) {
    AttentionWeights& weights = layer.attentions[0];
    for (LinearWeights* linear : {&weights.query, &weights.key, &weights.value}) {
      linear->weight.shape = {24, 32};
      linear->bias = {};
    }
    weights.output.weight.shape = {32, 24};
    weights.relative_bias = layers[0].attentions[0].query.weight;
    weights.relative_bias.shape = {8, 2};
  }
  const Views views = views_of(pattern);
  Attention attention{.norm = NormPlacement::before, .heads = 2, .head_size = 12, .scale = 0.4};
  const FeedForward feed_forward{.norm = NormPlacement::before, .size = 48, .activation = Activation::relu};
  Attention self = attention;
  self.positions = {PositionScheme::Kind::relative_buckets, 0, 8, 20};
  self.views = {{}, views[kQuery], views[kDocument]};
  self.views[kQuery][kCls] = self.views[kDocument][kCls] = {};
  Attention own = attention, cross = attention;
  own.views = {{kEverything, {}, {}}, {}, {}};
  cross.views = {{{}, views[kCls][kQuery], views[kCls][kDocument]}, {}, {}};
  d.stacks = {{{kQuery, kDocument}, {{{self}, feed_forward}, {{self}, feed_forward}}, true},
              {{kCls}, {{{own, cross}, feed_forward}, {{own, cross}, feed_forward}}, true}};
  model.weights.stacks = {{{layers[0], layers[1]}, layers[0].feed_forward.norm},
                          {{layers[2], layers[3]}, layers[1].feed_forward.norm}};
  for (std::size_t i = 0; i < 2; ++i) model.weights.stacks[1].layers[i].attentions.push_back(layers[i].attentions[0]);
  return model;
}

TEST(FastPath, ComputesADecoderForAnyBatch) {
  AttentionPattern asymmetric, query_only, windowed;
  asymmetric.query_document = asymmetric.query_cls = false;
  query_only.cls_document = false;
  windowed.window = 3;
  for (const AttentionPattern& pattern : {AttentionPattern(), asymmetric, query_only, windowed}) {
    RandomModel model = with_decoder(pattern);
    std::mt19937 random(1);
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < 150; ++i) lengths.push_back(1 + random() % 60);
    const Pairs pairs = random_pairs(model, 5, lengths);
    const std::vector<float> expected = pairs.logits(*model.on(kReference));
    const std::vector<float> logits = pairs.logits(*model.on(kFast));
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-4) << i;
    for (const int threads : {2, 5}) {
      EXPECT_EQ(pairs.logits(*model.on({Device::cpu(), Precision::fp32, threads, ""})), logits);
    }
    for (const std::size_t i : {0, 64, 149}) {
      const Pairs alone{pairs.query, {pairs.documents[i]}};
      EXPECT_EQ(alone.logits(*model.on(kFast))[0], logits[i]);
    }
  }
}

TEST(FastPath, NamesWhatItDoesNotSupport) {
  const auto refuse = [](const std::string& name, const auto& spoil) {
    RandomModel model = with_more_weights();
    spoil(model);
    expect_error(ErrorKind::unsupported, {"CPU backend", name}, [&] { model.on(kFast); });
    const Pairs pairs = random_pairs(model, 3, {4});
    EXPECT_TRUE(std::isfinite(pairs.logits(*model.on(kReference))[0])) << name;
  };
  const auto refuse_in_attention = [&](const std::string& name, const auto& spoil) {
    refuse(name, [&](RandomModel& model) { spoil(model.layers()[1].attentions[0]); });
  };
  refuse("groups of tokens other", [](auto& m) {
    m.add_global_tokens(3);
    m.layers()[0].attentions[0].views[kCls][3] = {};
  });
  refuse("groups of tokens other", [](auto& m) {
    m.add_global_tokens(3);
    m.description.head.groups = {kDocument};
  });
  refuse("several stacks", [](auto& m) {
    m.description.stacks.push_back({{}, {m.layers()[0]}});
    m.weights.stacks.push_back({{m.layer_weights()[0]}, {}});
  });
  refuse("several attentions", [](auto& m) {
    m.layers()[1].attentions.push_back(m.layers()[1].attentions[0]);
    m.layer_weights()[1].attentions.push_back(m.layer_weights()[1].attentions[0]);
  });
  const std::string mixed = "norms before some sub-blocks";
  refuse(mixed, [](auto& m) { m.description.stacks[0].final_norm = true; });
  refuse(mixed, [](auto& m) { m.layers()[1].feed_forward.norm = NormPlacement::before; });
  refuse(mixed, [](auto& m) { m.layers()[1].feed_forward.norm = NormPlacement::none; });
  refuse_in_attention(mixed, [](Attention& a) { a.norm = NormPlacement::before; });
  refuse_in_attention(mixed, [](Attention& a) { a.norm = NormPlacement::none; });
  refuse_in_attention("different sizes", [](Attention& a) { a.scale = 1; });
  refuse_in_attention("different sizes", [](Attention& a) {
    a.heads = 4;
    a.head_size = 4;
    a.scale = 0.5;
  });
  refuse_in_attention("keys and values of another stack", [](Attention& a) { a.keys_of_layer = 0; });
  refuse_in_attention("does not see itself", [](Attention& a) { a.views[kQuery][kQuery] = {}; });
  refuse_in_attention("across candidates", [](Attention& a) { a.views[kCls][kCls] = {View::Kind::across}; });
}

// An absent bias is a bias of zeros, on every backend.
TEST(Biases, MayBeAbsent) {
  for (const BackendOptions& options : {kReference, kFast}) {
    RandomModel zeros(kSmall), absent(kSmall);
    const std::vector<float> nothing(64);
    for (const bool remove : {false, true}) {
      RandomModel& model = remove ? absent : zeros;
      const auto clear = [&](TensorView& bias) {
        if (remove) {
          bias = {};
        } else {
          bias.data = reinterpret_cast<const std::byte*>(nothing.data());
        }
      };
      for (LayerWeights& layer : model.layer_weights()) {
        AttentionWeights& attention = layer.attentions[0];
        for (LinearWeights* linear : {&attention.query, &attention.key, &attention.value, &attention.output,
                                      &layer.feed_forward.in, &layer.feed_forward.out}) {
          clear(linear->bias);
        }
        clear(attention.norm.beta);
        clear(layer.feed_forward.norm.beta);
      }
      clear(model.weights.head_steps[0].dense.bias);
      clear(model.weights.head_output.bias);
      clear(model.weights.embedding_norm.beta);
    }
    const Pairs pairs{{5, 6}, {{10, 11, 12}}};
    EXPECT_EQ(pairs.logits(*absent.on(options)), pairs.logits(*zeros.on(options)));
  }
}

}  // namespace
}  // namespace relucent::testing
