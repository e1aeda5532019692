// Every backend computes the reference's function: every instruction set and precision, every pattern, odd sizes.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tests/support/kept_reference.h"

namespace relucent::testing {
namespace {

class AgreesWithReference : public OnEveryWay {
 protected:
  static BackendOptions with_threads(int threads) {
    BackendOptions options = GetParam().options;
    options.threads = threads;
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, AgreesWithReference, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

AttentionPattern pattern_of(unsigned flags, std::optional<std::int32_t> window) {
  AttentionPattern pattern;
  pattern.cls_query = (flags & 1) != 0;
  pattern.cls_document = (flags & 2) != 0;
  pattern.query_cls = (flags & 4) != 0;
  pattern.query_document = (flags & 8) != 0;
  pattern.document_cls = (flags & 16) != 0;
  pattern.document_query = (flags & 32) != 0;
  pattern.window = window;
  return pattern;
}

constexpr std::optional<std::int32_t> kWindows[] = {std::nullopt, 0, 1, 4, 64};

/// The logits of one small model's pairs in every combination, or in every `step`-th one from `first` on.
std::vector<std::vector<float>> in_every_combination(const BackendOptions& options, const Sizes& sizes,
                                                     std::size_t step = 1, std::size_t first = 0) {
  RandomModel model(sizes);
  const Pairs pairs = random_pairs(model, 5, {1, 9, 33});
  std::vector<std::vector<float>> logits;
  for (unsigned flags = 0; flags < 64; ++flags) {
    for (const auto window : kWindows) {
      std::vector<float>& found = logits.emplace_back();
      if ((logits.size() - 1) % step != first) continue;
      model.set_pattern(pattern_of(flags, window));
      found = pairs.logits(*model.on(options));
    }
  }
  return logits;
}

constexpr Sizes kNarrow{.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3};
constexpr Sizes kSmall{.hidden = 32, .heads = 2, .intermediate = 48, .layers = 3};
constexpr Sizes kWide{.hidden = 128, .heads = 2, .intermediate = 100, .layers = 2};

TEST_P(AgreesWithReference, InEveryCombinationOfFlagsAndWindows) {
  static std::map<int, std::vector<std::vector<float>>> truths;
  // GPUs take bf16 for wide encoders only.
  const bool wide = GetParam().on_gpu() && GetParam().options.precision == Precision::bf16;
  const Sizes& sizes = wide ? kWide : emulated() ? kSmall : kNarrow;
  auto& truth = truths[sizes.hidden];
  if (truth.empty()) truth = in_every_combination({Device::ref(), Precision::fp32, 1, ""}, sizes);
  // Where it takes long, the precisions share the combinations out.
  const Precision precision = GetParam().options.precision;
  const std::size_t step = emulated() ? 3 : 1;
  const std::size_t first = step == 1 || precision == Precision::fp32 ? 0 : precision == Precision::fp16 ? 1 : 2;
  const std::vector<std::vector<float>> found = in_every_combination(GetParam().options, sizes, step, first);
  double worst = 0;
  for (std::size_t i = first; i < truth.size(); i += step) {
    const double distance = furthest(found[i], truth[i]);
    ASSERT_LE(distance, GetParam().tolerance)
        << "flags " << i / std::size(kWindows) << ", window number " << i % std::size(kWindows);
    worst = std::max(worst, distance);
  }
  RecordProperty("worst", std::to_string(worst));
}

// Patterns matter: a backend that ignored a flag or the window would not pass the test above.
TEST(ReferencePatterns, EachFlagAndWindowChangesTheLogit) {
  RandomModel model({.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3});
  const Pairs pairs = random_pairs(model, 5, {33});
  const auto logit = [&](const AttentionPattern& pattern) {
    model.set_pattern(pattern);
    return pairs.logits(KeptReference(model)).front();
  };
  const float whole = logit(pattern_of(63, std::nullopt));
  for (unsigned flag = 0; flag < 6; ++flag) {
    EXPECT_GT(std::abs(logit(pattern_of(63U & ~(1U << flag), std::nullopt)) - whole), 1e-3) << "flag " << flag;
  }
  for (const std::int32_t window : {0, 1, 4}) {
    EXPECT_GT(std::abs(logit(pattern_of(63, window)) - whole), 1e-3) << "window " << window;
  }
  EXPECT_EQ(logit(pattern_of(63, 64)), whole);
}

TEST_P(AgreesWithReference, WithPatternsThatDifferFromLayerToLayer) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 64, .layers = 4});
  const Pairs pairs = random_pairs(model, 6, {2, 20});
  for (unsigned seed = 0; seed < 16; ++seed) {
    std::mt19937 random(seed);
    for (Layer& layer : model.layers()) {
      layer.attentions.front().views = views_of(pattern_of(random() % 64, kWindows[random() % std::size(kWindows)]));
    }
    EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
              GetParam().tolerance)
        << "seed " << seed;
  }
}

TEST_P(AgreesWithReference, ForManySizesOfModel) {
  const Sizes sizes[] = {{.hidden = 64, .heads = 4, .intermediate = 128},   // heads of 16
                         {.hidden = 96, .heads = 3, .intermediate = 384},   // 32, as MiniLM
                         {.hidden = 128, .heads = 2, .intermediate = 256},  // 64, as BERT base
                         {.hidden = 192, .heads = 3, .intermediate = 32},   // three tiles of a GPU's last attention
                         {.hidden = 48, .heads = 3, .intermediate = 100},
                         {.hidden = 40, .heads = 5, .intermediate = 24},  // 8, weights aligned to 128 bytes
                         {.hidden = 30, .heads = 3, .intermediate = 7},   // nothing a multiple of a vector
                         {.hidden = 7, .heads = 1, .intermediate = 1},
                         {.hidden = 5, .heads = 5, .intermediate = 9},
                         {.hidden = 64, .heads = 4, .intermediate = 128, .layers = 1},
                         {.hidden = 64, .heads = 4, .intermediate = 128, .layers = 6}};
  std::uint32_t seed = 1;
  for (const Sizes& size : sizes) {
    if (GetParam().on_gpu() && size.hidden / size.heads % 8 != 0) continue;  // refused: see kernels_backend.cpp
    for (const bool independent : {true, false}) {
      RandomModel model(size, pattern_of(independent ? 63U & ~12U : 63U, 4), ++seed);
      const Pairs pairs = random_pairs(model, 7, {1, 8, 40});
      EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
                GetParam().tolerance)
          << "hidden " << size.hidden << ", heads " << size.heads << ", layers " << size.layers;
    }
  }
}

TEST_P(AgreesWithReference, ForEveryLengthUpToThePositionTable) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2, .positions = 70},
                    pattern_of(63U & ~12U, 4));
  const auto backend = model.on(GetParam().options), truth = kept_reference(model);
  for (const std::size_t query : {1, 2, 31}) {
    std::vector<std::size_t> lengths;
    for (std::size_t length = 1; length <= 70 - 1 - query; ++length) lengths.push_back(length);
    const Pairs pairs = random_pairs(model, query, lengths);
    EXPECT_LE(furthest(pairs.logits(*backend), pairs.logits(*truth)), GetParam().tolerance);
  }
}

TEST_P(AgreesWithReference, ForQueriesLongerThanTheirDocuments) {
  const bool wide = GetParam().on_gpu() && GetParam().options.precision == Precision::bf16;
  for (const unsigned flags : {63U, 63U & ~12U}) {
    for (const auto window : {std::optional<std::int32_t>(), std::optional<std::int32_t>(4)}) {
      Sizes sizes = wide ? kWide : Sizes{.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2};
      sizes.positions = 600;
      RandomModel model(sizes, pattern_of(flags, window));
      const auto backend = model.on(GetParam().options), truth = kept_reference(model);
      for (const std::size_t query : {65, 150, 255, 500}) {
        if (emulated() && query > 150) continue;
        const Pairs pairs = random_pairs(model, query, {1, 2, 50, 99});
        EXPECT_LE(furthest(pairs.logits(*backend), pairs.logits(*truth)), GetParam().tolerance)
            << query << " tokens of the query, flags " << flags;
      }
    }
  }
}

/// Compares the logits of some pairs with ref's, and those of a pair alone and by its states with those among others.
/// Returns the largest difference, in parts of the largest logit that is above 1.
double compare_alone_and_among_others(RandomModel& model, const Way& on) {
  Pairs pairs = random_pairs(model, 7, {1, 30, 70});
  if (model.description.token_types == 0) pairs.document_type = 0;
  const auto backend = model.on(on.options);
  const std::vector<float> truth = pairs.logits(KeptReference(model)), found = pairs.logits(*backend);
  double largest = 1;
  for (const float logit : truth) largest = std::max(largest, std::abs(static_cast<double>(logit)));
  const double off = furthest(found, truth) / largest;
  EXPECT_LE(off, on.tolerance);
  pairs.documents.erase(pairs.documents.begin(), pairs.documents.begin() + 2);
  EXPECT_EQ(pairs.logits(*backend)[0], found[2]);  // alone as among others
  EXPECT_NEAR(pairs.states(*backend).logit, found[2], 2 * on.tolerance * largest);
  return off;
}

TEST_P(AgreesWithReference, WithWhatOtherFamiliesNeed) {
  double worst = 0;
  for (unsigned seed = 0; seed < (emulated() ? 8 : 60); ++seed) {
    std::mt19937 random(seed);
    RandomModel model({.hidden = 32, .heads = 2, .intermediate = 40, .layers = 3},
                      pattern_of(random() % 64, kWindows[random() % std::size(kWindows)]), seed);
    model.vary();
    model.vary_as_deberta();
    SCOPED_TRACE(seed);
    worst = std::max(worst, compare_alone_and_among_others(model, GetParam()));
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(AgreesWithReference, WithADecoderOfOneToken) {
  const bool wide = GetParam().on_gpu() && GetParam().options.precision == Precision::bf16;
  double worst = 0;
  for (unsigned seed = 0; seed < (emulated() ? 6 : 24); ++seed) {
    std::mt19937 random(seed);
    const unsigned sees = random() % 4 < 2 ? 3 : 1 + random() % 2;  // query and document, or one of them
    RandomModel model(wide ? kWide : Sizes{.hidden = 32, .heads = 2, .intermediate = 40, .layers = 2},
                      pattern_of((random() % 64 & ~3U) | sees, kWindows[random() % std::size(kWindows)]), seed);
    model.add_decoder(seed % 3 == 0 ? 24 : seed % 3 == 1 ? 16 : 40, seed / 3 % 2 == 1);
    Pairs pairs = random_pairs(model, seed % 2 == 0 ? 7 : 70, {1, 30, 70, 130});
    pairs.document_type = 0;
    const auto backend = model.on(GetParam().options);
    const std::vector<float> truth = pairs.logits(KeptReference(model)), found = pairs.logits(*backend);
    double largest = 1;
    for (const float logit : truth) largest = std::max(largest, std::abs(static_cast<double>(logit)));
    const double off = furthest(found, truth) / largest;
    worst = std::max(worst, off);
    EXPECT_LE(off, GetParam().tolerance) << "seed " << seed;
    if (!GetParam().on_gpu()) {
      EXPECT_EQ(pairs.logits(*model.on(with_threads(3))), found);
    }
    pairs.documents.erase(pairs.documents.begin(), pairs.documents.begin() + 2);
    EXPECT_EQ(pairs.logits(*backend)[0], found[2]) << "seed " << seed;  // alone as among others
  }
  RecordProperty("worst", std::to_string(worst));
}

// Residuals of T5 outgrow fp16, and so must not be kept in it.
TEST_P(AgreesWithReference, WithADecoderWhoseStatesAreLarge) {
  RandomModel model(kWide, {}, 3);
  model.add_decoder(64, false);
  for (LayerWeights& layer : model.layer_weights()) {
    std::vector<float> values = layer.feed_forward.out.weight.to_f32();
    for (float& value : values) value *= 60'000;
    model.own(layer.feed_forward.out.weight, std::move(values));
  }
  Pairs pairs = random_pairs(model, 5, {20, 3});
  pairs.document_type = 0;
  EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
            GetParam().tolerance);
}

TEST_P(AgreesWithReference, WithWhatT5Needs) {
  double worst = 0;
  for (unsigned seed = 0; seed < (emulated() ? 8 : 40); ++seed) {
    std::mt19937 random(seed);
    RandomModel model({.hidden = 32, .heads = 2, .intermediate = 40, .layers = 3},
                      pattern_of(random() % 64, kWindows[random() % std::size(kWindows)]), seed);
    model.vary();
    model.vary_as_t5();
    SCOPED_TRACE(seed);
    worst = std::max(worst, compare_alone_and_among_others(model, GetParam()));
  }
  RecordProperty("worst", std::to_string(worst));
}

// Keys start within the rows of queries, where no product may assume more alignment than one head has.
TEST_P(AgreesWithReference, WithDisentangledAttention) {
  for (const std::int32_t heads : {1, 3}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      RandomModel model({.hidden = 8 * heads, .heads = heads, .intermediate = 40, .layers = 2}, {}, seed);
      model.disentangle();
      SCOPED_TRACE(std::to_string(heads) + " heads, seed " + std::to_string(seed));
      compare_alone_and_among_others(model, GetParam());
    }
  }
}

// What the CPU computes and a GPU does not, although it computes each part.
TEST_P(AgreesWithReference, OrRefusesByName) {
  const Sizes sizes{.hidden = 32, .heads = 2, .intermediate = 40, .layers = 2};
  const auto computed_or_refused = [&](RandomModel& model, const std::string& name) {
    if (GetParam().on_gpu()) {
      expect_error(ErrorKind::unsupported, name, [&] { model.on(GetParam().options); });
      return;
    }
    Pairs pairs = random_pairs(model, 5, {20, 3});
    pairs.document_type = 0;
    EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
              GetParam().tolerance)
        << name;
  };
  {
    RandomModel model(sizes);
    model.add_decoder(16, true);
    model.description.stacks.back().layers.back().attentions.back().views[kCls][kQuery] = {};
    computed_or_refused(model, "a decoder whose layers see different groups");
  }
  {
    RandomModel model(sizes);
    model.description.head.scale = 0.5;
    computed_or_refused(model, "a scale in the head with steps after it");
  }
  {
    RandomModel model(sizes);
    model.add_global_tokens(4);
    for (std::size_t i = 0; i < model.layers().size(); ++i) {
      model.layers()[i].attentions.front().positions = {
          .kind = PositionScheme::Kind::relative_buckets, .buckets = 4, .max_distance = 9};
      TensorView& bias = model.layer_weights()[i].attentions.front().relative_bias;
      bias.shape = {4, 2};
      model.own(bias, {0.5F, 1, -1, 2, 0.1F, -2, 1.5F, 0});
    }
    computed_or_refused(model, "relative positions with tokens of the document that see all of it");
  }
}

TEST_P(AgreesWithReference, WithDecoders) {
  for (const std::int32_t key_heads : {1, 2, 4}) {
    RandomModel model({.hidden = 40, .heads = 4, .intermediate = 72, .layers = 2});
    model.make_causal(key_heads, key_heads != 2);
    if (GetParam().on_gpu()) {
      EXPECT_THROW(model.on(GetParam().options), Error);
      continue;
    }
    const auto backend = model.on(GetParam().options);
    const auto reference = kept_reference(model);
    for (const std::size_t query : {1, 64, 130}) {
      Pairs pairs = random_pairs(model, query, {1, 2, 64, 65, 140});
      pairs.with_cls = false, pairs.document_type = 0;
      const std::vector<float> truth = pairs.logits(*reference), found = pairs.logits(*backend);
      EXPECT_LE(furthest(found, truth), 2 * GetParam().tolerance) << query << " and " << key_heads;
      EXPECT_EQ(pairs.logits(*model.on(with_threads(3))), found);
      pairs.documents.erase(pairs.documents.begin(), pairs.documents.begin() + 3);
      EXPECT_EQ(pairs.logits(*backend)[0], found[3]);  // alone as among others
    }
  }
}

TEST_P(AgreesWithReference, WithSets) {
  for (const unsigned kind : {0U, 1U, 2U, 3U}) {
    const bool pooled = (kind & 1) != 0, interacts = (kind & 2) != 0;
    RandomModel model({.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3});
    model.make_set();
    if (interacts) model.add_interaction();
    if (pooled) model.description.head.groups = model.description.stacks.front().groups;
    const auto backend = model.on(GetParam().options), reference = kept_reference(model);
    for (const std::size_t count : {1, 2, emulated() ? 7 : 19}) {
      if (emulated() && count == 1 && kind > 0) continue;
      std::vector<std::size_t> lengths(count);
      for (std::size_t i = 0; i < count; ++i) lengths[i] = 1 + 7 * i % 40;
      Pairs pairs = random_pairs(model, 5, lengths);
      pairs.interacts = interacts;
      const std::vector<float> found = pairs.logits(*backend);
      EXPECT_LE(furthest(found, pairs.logits(*reference)), GetParam().tolerance) << count << ", kind " << kind;
      EXPECT_EQ(pairs.logits(*model.on(with_threads(3))), found);
      if (count == 1) continue;
      Pairs fewer = pairs;
      fewer.documents.pop_back();
      EXPECT_NE(fewer.logits(*backend)[0], found[0]);
    }
  }
}

// More keys than a tile of a GPU has slots, documents of several tiles, and more sequences than a chunk has room for.
TEST_P(AgreesWithReference, WithLargeSets) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 40, .layers = 2, .positions = 600});
  model.make_set();
  model.add_interaction();
  const auto backend = model.on(GetParam().options), reference = kept_reference(model);
  std::vector<std::size_t> lengths(GetParam().on_gpu() && !emulated() ? 1100 : 70, 2);
  lengths.front() = 540, lengths.back() = 65;
  Pairs pairs = random_pairs(model, 9, lengths);
  pairs.interacts = true;
  EXPECT_LE(furthest(pairs.logits(*backend), pairs.logits(*reference)), GetParam().tolerance);
}

TEST_P(AgreesWithReference, WithLateInteraction) {
  for (const std::int32_t window : {3, 20, 31}) {
    if (emulated() && window == 31) continue;
    RandomModel model({.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3});
    const std::int32_t size = window == 20 ? 24 : GetParam().on_gpu() ? 8 : 7;
    model.make_late_interaction(size, window, window != 31);
    const auto backend = model.on(GetParam().options), reference = kept_reference(model);
    std::mt19937 random(5);
    std::vector<std::vector<std::int32_t>> texts;
    std::vector<std::int32_t> positions(120);
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<Segment> segments;
    for (const std::size_t length : {1, 5, 16, 32, 33, 49, 120}) {
      for (std::size_t i = 0; i < length; ++i) {
        if (i == 0) texts.emplace_back();
        texts.back().push_back(static_cast<std::int32_t>(random() % 50));
      }
    }
    for (const auto& text : texts) {
      segments.push_back({kDocument, text, std::span(positions).first(text.size())});
      // Every token of the expansion sees some of the text through the window.
      segments.back().expansion = std::min<std::size_t>(text.size() / 2, 3);
    }
    const auto encode = [&](const Backend& with, std::span<const Segment> some) {
      std::size_t count = 0;
      for (const Segment& segment : some) count += segment.tokens();
      std::vector<float> vectors(count * static_cast<std::size_t>(size));
      with.encode(some, vectors);
      return vectors;
    };
    const std::vector<float> truth = encode(*reference, segments), found = encode(*backend, segments);
    EXPECT_LE(furthest(found, truth), 2 * GetParam().tolerance) << window;
    EXPECT_EQ(encode(*model.on(with_threads(3)), segments), found);
    std::size_t first = 0;
    for (const Segment& segment : segments) {  // alone as among others
      const std::vector<float> alone = encode(*backend, {&segment, 1});
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), found.begin() + static_cast<std::ptrdiff_t>(first)));
      first += alone.size();
    }
    // No token sees the expansion: other words there change nothing but its own vectors.
    std::vector<std::int32_t> other = texts.back();
    for (std::size_t i = other.size() - 3; i < other.size(); ++i) other[i] = (other[i] + 1) % 50;
    Segment changed = segments.back();
    changed.ids = other;
    const std::vector<float> before = encode(*backend, {&segments.back(), 1}), after = encode(*backend, {&changed, 1});
    const auto seen = static_cast<std::ptrdiff_t>((other.size() - 3) * static_cast<std::size_t>(size));
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + seen, after.begin()));
    EXPECT_FALSE(std::equal(before.begin() + seen, before.end(), after.begin() + seen));
    std::vector<float> room(found.size() - 1);
    EXPECT_THROW(backend->encode(segments, room), Error);
    std::vector<float> logit(1);
    const std::span<const Segment> candidate(segments.data(), 1);
    EXPECT_THROW(backend->score({{}, {&candidate, 1}}, logit), Error);
    Segment all = segments.front();
    all.expansion = 1;
    room.resize(static_cast<std::size_t>(size));
    EXPECT_THROW(backend->encode({&all, 1}, room), Error);
  }
}

TEST_P(AgreesWithReference, WithAVectorPerText) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first}) {
    RandomModel model({.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3});
    model.make_late_interaction(8, 20, false);
    model.description.head = {
        .groups = model.description.head.groups, .pooling = pooling, .per_token = true, .per_text = true};
    model.weights.head_steps.clear();
    const auto backend = model.on(GetParam().options), reference = kept_reference(model);
    std::vector<std::vector<std::int32_t>> texts;
    std::vector<Segment> segments;
    std::vector<std::int32_t> positions(120);
    std::iota(positions.begin(), positions.end(), 0);
    for (const std::size_t length : {1, 5, 32, 49, 120}) texts.push_back(model.tokens(length));
    for (const auto& text : texts) segments.push_back({kDocument, text, std::span(positions).first(text.size())});
    const auto encode = [](const Backend& with, std::span<const Segment> some) {
      std::vector<float> vectors(some.size() * 48);
      with.encode(some, vectors);
      return vectors;
    };
    const std::vector<float> found = encode(*backend, segments);
    EXPECT_LE(furthest(found, encode(*reference, segments)), 2 * GetParam().tolerance);
    EXPECT_EQ(encode(*model.on(with_threads(3)), segments), found);
    const std::vector<float> alone = encode(*backend, std::span(segments).subspan(3, 1));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), found.begin() + 3 * 48));
    std::vector<float> room(found.size() - 1);
    EXPECT_THROW(backend->encode(segments, room), Error);
  }
}

TEST_P(AgreesWithReference, OfGlobalTokens) {
  const bool wide = GetParam().on_gpu() && GetParam().options.precision == Precision::bf16;
  constexpr std::int32_t windows[] = {0, 1, 2, 17, 40, 64};
  double worst = 0;
  for (unsigned seed = 0; seed < (emulated() ? 12 : 40); ++seed) {
    std::mt19937 random(seed);
    RandomModel model(wide ? kWide : Sizes{.hidden = 32, .heads = 2, .intermediate = 40, .layers = 3},
                      pattern_of(random() % 64, std::nullopt), seed);
    if (seed % 2 == 1 && !wide) model.vary();
    model.add_global_tokens(windows[seed / 2 % std::size(windows)]);
    // Up to 16 global tokens of a document, up to 64, and more.
    const GlobalPairs pairs(model, 3, {1, 1 + random() % 20, 1 + random() % 70, 110}, seed);
    const auto backend = model.on(GetParam().options), reference = kept_reference(model);
    const std::vector<float> truth = pairs.logits(*reference), found = pairs.logits(*backend);
    double largest = 1;
    for (const float logit : truth) largest = std::max(largest, std::abs(static_cast<double>(logit)));
    const double off = furthest(found, truth) / largest;
    worst = std::max(worst, off);
    EXPECT_LE(off, GetParam().tolerance) << "seed " << seed;
    for (const std::size_t i : {2, 3}) {
      EXPECT_EQ(pairs.logits(*backend, i, 1)[0], found[i]) << "seed " << seed;  // alone as among others
    }
    const HiddenStates expected = pairs.states(*reference, 3), states = pairs.states(*backend, 3);
    ASSERT_EQ(states.layers.size(), expected.layers.size());
    for (std::size_t layer = 0; layer < states.layers.size(); ++layer) {
      ASSERT_EQ(states.layers[layer].size(), expected.layers[layer].size());
      for (std::size_t segment = 0; segment < states.layers[layer].size(); ++segment) {
        double size = 2;
        for (const float x : expected.layers[layer][segment]) size = std::max(size, std::abs(static_cast<double>(x)));
        EXPECT_LE(furthest(states.layers[layer][segment], expected.layers[layer][segment]) / size,
                  2 * GetParam().tolerance)
            << "seed " << seed << ", layer " << layer << ", segment " << segment;
      }
    }
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST_P(AgreesWithReference, InTheHiddenStatesOfEveryGroup) {
  for (const unsigned flags : {63U, 63U & ~12U, 0U}) {
    RandomModel model({.hidden = 48, .heads = 3, .intermediate = 100, .layers = 3}, pattern_of(flags, 4));
    const Pairs pairs = random_pairs(model, 5, {30});
    const HiddenStates truth = pairs.states(KeptReference(model));
    const auto backend = model.on(GetParam().options);
    const HiddenStates states = pairs.states(*backend);
    // States are of size 1 to 4, logits mostly below 1.
    const double tolerance = GetParam().tolerance * 2;
    ASSERT_EQ(states.layers.size(), 3U);
    for (std::size_t layer = 0; layer < 3; ++layer) {
      ASSERT_EQ(states.layers[layer].size(), 3U);
      for (std::size_t segment = 0; segment < 3; ++segment) {
        EXPECT_LE(furthest(states.layers[layer][segment], truth.layers[layer][segment]), tolerance)
            << "layer " << layer << ", segment " << segment;
      }
    }
    EXPECT_NEAR(states.logit, truth.logit, tolerance);
    EXPECT_NEAR(states.logit, pairs.logits(*backend)[0], tolerance);
  }
}

// The widest rows that a GPU's kernels hold in registers, and its widest heads.
TEST_P(AgreesWithReference, OnWideEncoders) {
  static std::map<int, std::vector<float>> truths;
  for (const Sizes& sizes : {Sizes{.hidden = 768, .heads = 12, .intermediate = 64, .layers = 2},
                             Sizes{.hidden = 1024, .heads = 8, .intermediate = 64, .layers = 2},
                             Sizes{.hidden = 2048, .heads = 16, .intermediate = 32, .layers = 2}}) {
    if (!GetParam().on_gpu() && sizes.hidden > 1000) continue;  // a CPU's code does the same for any width
    RandomModel model(sizes, pattern_of(63U & ~12U, 4));
    const Pairs pairs = random_pairs(model, 4, {1, 37});
    auto& truth = truths[sizes.hidden];
    if (truth.empty()) truth = pairs.logits(KeptReference(model));
    EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), truth), GetParam().tolerance) << sizes.hidden;
  }
}

TEST_P(AgreesWithReference, WithoutTokenTypes) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 48}, pattern_of(63U & ~12U, 4));
  Pairs pairs = random_pairs(model, 5, {20, 3});
  pairs.document_type = 0;
  const std::vector<float> truth = pairs.logits(KeptReference(model));
  EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), truth), GetParam().tolerance);
  pairs.document_type = 1;
  EXPECT_GT(furthest(pairs.logits(KeptReference(model)), truth), 1e-3);
}

TEST_P(AgreesWithReference, OnLongInputs) {
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2, .positions = 4096},
                    pattern_of(63U & ~12U, 4));
  const Pairs pairs = random_pairs(model, 10, {4096 - 11});
  EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
            GetParam().tolerance);
}

// A GPU divides the keys of [CLS] among blocks, from 512 tokens of a document on.
TEST_P(AgreesWithReference, OnLongAndShortDocumentsTogether) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    RandomModel model({.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2, .positions = 1024},
                      pattern_of(seed == 2 ? 63U & ~2U : 63U & ~12U, 4), seed);
    if (seed == 1) model.vary();  // other windows
    if (seed == 2) model.disentangle();
    Pairs pairs = random_pairs(model, 10, {511, 3, 512, 800});
    if (model.description.token_types == 0) pairs.document_type = 0;
    const auto backend = model.on(GetParam().options);
    const std::vector<float> truth = pairs.logits(KeptReference(model)), found = pairs.logits(*backend);
    double largest = 1;
    for (const float logit : truth) largest = std::max(largest, std::abs(static_cast<double>(logit)));
    EXPECT_LE(furthest(found, truth) / largest, GetParam().tolerance) << "seed " << seed;
    for (const std::size_t i : {2, 3}) {
      const Pairs alone{pairs.query, {pairs.documents[i]}, pairs.document_type};
      EXPECT_EQ(alone.logits(*backend)[0], found[i]) << "seed " << seed;
    }
  }
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 40, .layers = 2, .positions = 1024},
                    pattern_of(63, std::nullopt));
  model.add_global_tokens(4);
  const GlobalPairs pairs(model, 3, {600, 20}, 1);
  EXPECT_LE(furthest(pairs.logits(*model.on(GetParam().options)), pairs.logits(KeptReference(model))),
            GetParam().tolerance);
}

}  // namespace
}  // namespace relucent::testing
