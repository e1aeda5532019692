// Plans that no family has: random views, norms, gates, activations, positions and heads, rarely also groups. Every
// instruction set, or the GPU that RELUCENT_TEST_DEVICE names, gives what ref gives, or refuses the plan by an Error
// that names the feature.
// RELUCENT_PLANS is the number of plans, RELUCENT_PLANS_FIRST the seed of the first one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

std::uint32_t number_in(const char* variable, std::uint32_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
}

bool on_gpu() { return std::getenv("RELUCENT_TEST_DEVICE") != nullptr; }

/// An encoder and a batch for it.
class RandomPlan {
 public:
  explicit RandomPlan(std::uint32_t seed) : random_(seed), model_(sizes(), {}, seed) {
    switch (below(4)) {
      case 0: break;
      case 1: model_.vary(); break;
      case 2:
        model_.vary();
        model_.vary_as_deberta();
        break;
      default: model_.vary(), model_.vary_as_t5();
    }
    add_groups();
    for (std::size_t i = 0; i < model_.layers().size(); ++i) vary_layer(i);
    choose_head();
    make_batch();
  }

  RandomModel& model() { return model_; }

  std::vector<float> logits(const Backend& backend) const { return logits(backend, 0, candidates_.size()); }
  std::vector<float> logits(const Backend& backend, std::size_t first, std::size_t count) const {
    std::vector<float> scores(count, std::nanf(""));
    backend.score({shared_, std::span(candidates_).subspan(first, count)}, scores);
    return scores;
  }
  std::size_t candidates() const { return candidates_.size(); }

  /// What a failure needs to be understood.
  std::string text() const {
    const EncoderDescription& d = model_.description;
    std::string all = "hidden " + std::to_string(d.hidden_size) + ", final norm " +
                      std::to_string(d.stacks.front().final_norm) + ", head of groups";
    for (const std::int32_t group : d.head.groups) all += " " + std::to_string(group);
    all += ", pooling " + std::to_string(static_cast<int>(d.head.pooling)) + ", steps " +
           std::to_string(d.head.steps.size()) + ", outputs " + std::to_string(d.head.outputs) + ", positions " +
           std::to_string(d.max_positions) + ", types " + std::to_string(d.token_types) + ", embedding " +
           std::to_string(d.embedding_size) + ", convolution " +
           std::to_string(d.stacks.front().convolution ? d.stacks.front().convolution->size : 0);
    for (const Layer& layer : d.stacks.front().layers) {
      const Attention& attention = layer.attentions.front();
      all += "\nactivation " + std::to_string(static_cast<int>(layer.feed_forward.activation)) + ", gated " +
             std::to_string(layer.feed_forward.gated) + ", scale " + std::to_string(attention.scale) + ", key heads " +
             std::to_string(attention.key_heads) + ", " + std::to_string(attention.heads) + " heads of " +
             std::to_string(attention.head_size) + ", norms " + std::to_string(static_cast<int>(attention.norm)) +
             std::to_string(static_cast<int>(layer.feed_forward.norm)) + ", positions " +
             std::to_string(static_cast<int>(attention.positions.kind)) + ", views";
      for (const auto& from : attention.views) {
        all += " |";
        for (const View& view : from) all += view_text(view);
      }
    }
    for (const Segment& segment : shared_) all += "\nshared " + segment_text(segment);
    for (const auto& candidate : owned_) {
      for (const Segment& segment : candidate) all += "\ncandidate " + segment_text(segment);
    }
    return all;
  }

 private:
  struct Tokens {
    std::vector<std::int32_t> ids, positions;
  };

  static std::string view_text(const View& view) {
    switch (view.kind) {
      case View::Kind::none: return " -";
      case View::Kind::all: return " all";
      case View::Kind::window: return " w" + std::to_string(view.window);
      case View::Kind::before: return " before";
      case View::Kind::across: return " across";
      case View::Kind::linked: return " linked";
    }
    return {};
  }
  static std::string segment_text(const Segment& segment) {
    std::string text = std::to_string(segment.group) + " of type " + std::to_string(segment.type) + ":";
    for (const std::int32_t position : segment.positions) text += " " + std::to_string(position);
    return text;
  }

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool coin() { return below(2) == 0; }

  Sizes sizes() {
    const std::int32_t heads[] = {1, 2, 3, 4}, sizes[] = {2, 4, 5, 6, 8, 16};
    Sizes made{.heads = heads[below(4)], .intermediate = static_cast<std::int32_t>(1 + below(40))};
    made.hidden = made.heads * sizes[on_gpu() ? 4 + below(2) : below(6)];  // GPUs take multiples of 8
    made.layers = static_cast<std::int32_t>(1 + below(3));
    made.positions = 64;
    return made;
  }

  bool is_shared(std::size_t group) const { return within(model_.description.groups[group].input, Dependence::query); }

  void add_groups() {
    for (std::uint32_t i = below(16) == 0 ? below(4) : 0; i > 0; --i) {
      const Dependence inputs[] = {Dependence::nothing, Dependence::query, Dependence::pair, Dependence::candidate};
      model_.description.groups.push_back({"group " + std::to_string(i), inputs[below(4)]});
      model_.description.stacks.front().groups.push_back(
          static_cast<std::int32_t>(model_.description.groups.size() - 1));
    }
  }

  View random_view() {
    if (below(200) == 0) return {View::Kind::before};
    switch (below(6)) {
      case 0: return {};
      case 1:
      case 2: return {View::Kind::window, static_cast<std::int32_t>(below(10))};
      default: return {View::Kind::all};
    }
  }

  void vary_layer(std::size_t number) {
    Attention& attention = model_.layers()[number].attentions.front();
    AttentionWeights& of = model_.layer_weights()[number].attentions.front();
    const std::size_t groups = model_.description.groups.size();
    if (coin() || groups > attention.views.size()) {
      Views views(groups, std::vector<View>(groups));
      const bool bare = coin();  // as many views as in a family are of all tokens
      for (std::size_t from = 0; from < groups; ++from) {
        for (View& view : views[from]) view = bare && below(4) > 0 ? View{View::Kind::all} : random_view();
        if (views[from][from].kind == View::Kind::none && below(30) > 0) views[from][from] = {View::Kind::all};
      }
      attention.views = std::move(views);
    }
    const bool disentangled = attention.positions.kind == PositionScheme::Kind::disentangled;
    if (!disentangled && attention.heads > 1 && below(40) == 0) {
      // Fewer keys and values: the first rows of those that there are.
      attention.key_heads = attention.heads % 2 == 0 && coin() ? attention.heads / 2 : 1;
      for (LinearWeights* map : {&of.key, &of.value}) {
        map->weight.shape[0] = std::int64_t{attention.key_heads} * attention.head_size;
        if (map->bias.data != nullptr) map->bias.shape[0] = map->weight.shape[0];
      }
    }
    if (!disentangled && below(40) == 0 && attention.head_size <= model_.description.hidden_size) {
      attention.norms_heads = true;
      of.query_norm = of.key_norm = model_.weights.stacks.front().final_norm.gamma.data != nullptr
                                        ? model_.weights.stacks.front().final_norm.gamma
                                        : model_.layer_weights()[number].feed_forward.norm.gamma;
      of.query_norm.shape = of.key_norm.shape = {attention.head_size};
    }
    if (attention.positions.kind == PositionScheme::Kind::none && attention.head_size % 2 == 0 && below(4) == 0) {
      attention.positions = {PositionScheme::Kind::rotary, coin() ? 10000.0 : 50.0};
    }
    attention.scale = coin() ? attention.scale : 0.1 + 0.05 * below(20);
    FeedForward& feed_forward = model_.layers()[number].feed_forward;
    feed_forward.activation = static_cast<Activation>(below(kActivations));
  }

  void choose_head() {
    Head& head = model_.description.head;
    std::vector<std::int32_t> groups;
    for (const std::int32_t group : model_.description.stacks.front().groups) {
      if (below(3) == 0) groups.push_back(group);
    }
    if (!groups.empty()) head.groups = groups;
    const Pooling poolings[] = {Pooling::mean, Pooling::first, Pooling::last, Pooling::all_but_last};
    if (below(10) == 0) head.pooling = poolings[below(4)];
  }

  Segment segment_of(std::size_t group, std::uint32_t most) {
    Tokens& tokens = tokens_.emplace_back();
    const std::size_t count = 1 + below(most);
    tokens.ids = model_.tokens(count);
    tokens.positions.resize(count);
    // One after another from anywhere, as those of a document, or anywhere.
    const std::uint32_t limit = 64;
    if (joined_) {
      std::iota(tokens.positions.begin(), tokens.positions.end(), next_);
      next_ += static_cast<std::int32_t>(count);
    } else if (below(12) > 0) {
      std::iota(tokens.positions.begin(), tokens.positions.end(),
                static_cast<std::int32_t>(below(limit - static_cast<std::uint32_t>(count))));
    } else {
      for (std::int32_t& position : tokens.positions) position = static_cast<std::int32_t>(below(limit));
      if (coin()) std::sort(tokens.positions.begin(), tokens.positions.end());
    }
    const std::int32_t types = model_.description.token_types;
    const auto type = types > 0 ? static_cast<std::int32_t>(below(static_cast<std::uint32_t>(types))) : 0;
    return {static_cast<std::int32_t>(group), tokens.ids, tokens.positions, type};
  }

  void make_batch() {
    tokens_.reserve(200);  // segments view them
    // As in a text of all segments, which a convolution needs, or each from anywhere.
    joined_ = coin() || (model_.description.stacks.front().convolution && below(10) > 0);
    const std::size_t groups = model_.description.groups.size();
    for (std::size_t group = 0; group < groups; ++group) {
      if (is_shared(group)) shared_.push_back(segment_of(group, group == kCls ? 1 : 12));
    }
    owned_.resize(1 + below(5));
    const std::int32_t behind = next_;
    for (auto& candidate : owned_) {
      next_ = behind;
      for (std::size_t group = 0; group < groups; ++group) {
        if (!is_shared(group)) candidate.push_back(segment_of(group, 30));
      }
      candidates_.emplace_back(candidate);
    }
  }

  std::mt19937 random_;
  RandomModel model_;
  std::vector<Tokens> tokens_;
  bool joined_ = false;
  std::int32_t next_ = 0;  ///< position
  std::vector<Segment> shared_;
  std::vector<std::vector<Segment>> owned_;
  std::vector<std::span<const Segment>> candidates_;
};

constexpr double kTolerance = 1e-4;

double distance_in_parts(const std::vector<float>& found, const std::vector<float>& truth) {
  double largest = 1;
  for (const float logit : truth) largest = std::max(largest, std::abs(static_cast<double>(logit)));
  return furthest(found, truth) / largest;
}

TEST(RandomPlans, GiveInEveryWayWhatTheReferenceGives) {
  const std::uint32_t first = number_in("RELUCENT_PLANS_FIRST", 1),
                      count = number_in("RELUCENT_PLANS", emulated() ? 20 : 300);
  std::map<std::string, std::size_t> refused;
  std::size_t invalid = 0, computed = 0, comparisons = 0;
  double worst = 0;
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("RELUCENT_PLANS=1 RELUCENT_PLANS_FIRST=" + std::to_string(seed));
    RandomPlan plan(seed);
    std::vector<float> truth;
    try {
      truth = plan.logits(*plan.model().on({Device::ref(), Precision::fp32, 1, ""}));
    } catch (const Error& error) {
      // A plan that contradicts itself: the others refuse it as well, by the same checks.
      ASSERT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++invalid;
      continue;
    }
    bool any = false;
    for (const Way& way : ways(1)) {
      if (way.options.precision != Precision::fp32) continue;
      if (way.options.instruction_set == "amx_emulated" && seed % 16 != 0) continue;  // it is slow
      SCOPED_TRACE(name_of(way));
      try {
        const auto backend = plan.model().on(way.options);
        const std::vector<float> found = plan.logits(*backend);
        const double off = distance_in_parts(found, truth);
        EXPECT_LE(off, kTolerance) << plan.text();
        worst = std::max(worst, off);
        const std::size_t last = plan.candidates() - 1;
        EXPECT_EQ(plan.logits(*backend, last, 1)[0], found[last]) << "alone as among others";
        any = true;
        ++comparisons;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
        ++refused[error.problem()];
      }
    }
    computed += any ? 1 : 0;
  }
  std::printf("%u plans: %zu computed, %zu comparisons, %zu invalid, largest difference %.2g\n", count, computed,
              comparisons, invalid, worst);
  for (const auto& [problem, times] : refused) std::printf("refused %zu times: %s\n", times, problem.c_str());
  // A comparison of few plans would mean little.
  if (count >= 100) {
    EXPECT_GT(computed, count / (on_gpu() ? 8 : 4));
  }
}

}  // namespace
}  // namespace relucent::testing
