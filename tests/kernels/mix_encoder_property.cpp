// MixEncoders: every backend computes what the reference computes, and a candidate's bits depend on nothing else.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "kernels/pair_form.h"
#include "tests/support/kept_reference.h"
#include "tests/support/mix_inputs.h"

namespace relucent::testing {
namespace {

std::vector<std::size_t> lengths(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = 16 + i * 37 % 40;
  return all;
}

class MixEncoders : public OnEveryWay {};

INSTANTIATE_TEST_SUITE_P(Ways, MixEncoders, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

class MixEncoderBits : public OnEveryWay {};

INSTANTIATE_TEST_SUITE_P(Ways, MixEncoderBits, ::testing::ValuesIn(fast_ways()),
                         [](const auto& way) { return name_of(way.param); });

struct Form {
  Derivation::Kind kind;
  std::int32_t context;
  std::vector<std::int32_t> keys_of;
  Pooling hint, pooling;
};

TEST_P(MixEncoders, ComputeWhatTheReferenceComputes) {
  const std::vector<Form> forms = {
      {Derivation::Kind::first_tokens, 1, {2}, Pooling::mean, Pooling::mean},
      {Derivation::Kind::first_tokens, 3, {0, 2}, Pooling::last, Pooling::all_but_last},
      {Derivation::Kind::codes, 2, {0, 1, 2}, Pooling::mean, Pooling::mean},
      {Derivation::Kind::codes, 16, {1}, Pooling::last, Pooling::all_but_last},
  };
  for (const Form& form : forms) {
    for (const std::int32_t hidden : {72, 136}) {
      // A GPU takes heads of multiples of 8.
      const std::int32_t heads = GetParam().on_gpu() ? hidden / 8 : 4;
      RandomModel model({.hidden = hidden, .heads = heads, .intermediate = 100, .layers = 3});
      model.make_mix_encoder(form.kind, form.context, form.keys_of, form.hint, form.pooling);
      const MixInputs inputs(model, 7, lengths(4));
      const auto ref = kept_reference(model);
      const auto backend = model.on(GetParam().options);
      const bool exact = GetParam().options.precision == Precision::fp32;
      const std::vector<float> states = inputs.encoded(*ref, 0, inputs.count());
      EXPECT_LE(furthest(inputs.encoded(*backend, 0, inputs.count()), states), exact ? 2e-5 : 0.5);
      // A score is a sum over as many features as there are.
      EXPECT_LE(furthest(inputs.scores(*backend, 0, inputs.count()), inputs.scores(*ref, 0, inputs.count())),
                GetParam().tolerance * hidden / (exact ? 1 : 4))
          << form.context << " states, hidden " << hidden;
    }
  }
}

TEST_P(MixEncoderBits, DependOnNothingElse) {
  RandomModel model({.hidden = 136, .heads = GetParam().on_gpu() ? 17 : 4, .intermediate = 200, .layers = 3});
  model.make_mix_encoder(Derivation::Kind::codes, 2, {1, 2}, Pooling::mean, Pooling::mean);
  const MixInputs inputs(model, 9, lengths(emulated() ? 14 : 50));
  const auto backend = model.on(GetParam().options);
  const std::vector<float> states = inputs.encoded(*backend, 0, inputs.count());
  const std::vector<float> scores = inputs.scores(*backend, 0, inputs.count());
  EXPECT_EQ(inputs.scores(*backend, 0, inputs.count(), states), scores) << "encoded before and now";
  for (const int threads : {1, 3}) {
    BackendOptions options = GetParam().options;
    options.threads = threads;
    const auto other = model.on(options);
    EXPECT_EQ(inputs.encoded(*other, 0, inputs.count()), states) << threads;
    EXPECT_EQ(inputs.scores(*other, 0, inputs.count(), states), scores) << threads;
  }
  const std::span<const float> all(states);
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}, inputs.count() * 3 / 5}) {
    for (const std::size_t count : {std::size_t{1}, inputs.count() * 2 / 5}) {
      const auto part = [&](const std::vector<float>& of, std::size_t each) {
        return std::vector<float>(of.begin() + static_cast<std::ptrdiff_t>(first * each),
                                  of.begin() + static_cast<std::ptrdiff_t>((first + count) * each));
      };
      EXPECT_EQ(inputs.encoded(*backend, first, count), part(states, inputs.size())) << first << ", " << count;
      EXPECT_EQ(inputs.scores(*backend, first, count, all.subspan(first * inputs.size(), count * inputs.size())),
                part(scores, 1))
          << first << ", " << count;
    }
  }
}

class MixEncoderBatch : public ::testing::Test {
 protected:
  MixEncoderBatch() {
    model_.make_mix_encoder(Derivation::Kind::first_tokens, 2, {1}, Pooling::mean, Pooling::mean);
    std::iota(positions_.begin(), positions_.end(), 0);
    backends_.push_back(model_.on({Device::ref(), Precision::fp32, 1, ""}));
  }
  void SetUp() override {
    const char* const device = std::getenv("RELUCENT_TEST_DEVICE");
    RELUCENT_NEEDS_DEVICE(
        backends_.push_back(model_.on({parse_device(device == nullptr ? "cpu" : device), Precision::fp32, 2, ""})));
  }
  Segment text(std::size_t tokens) const {
    return {kDocument, std::span(ids_).first(tokens), std::span(positions_).first(tokens)};
  }
  void refuse(ErrorKind kind, const std::string& words, std::span<const Segment> shared, const Segment& candidate) {
    const std::span<const Segment> candidates[] = {{&candidate, 1}};
    float logit = 0;
    for (const auto& backend : backends_) {
      expect_error(kind, {words}, [&] { backend->score({shared, candidates}, {&logit, 1}); });
    }
  }

  RandomModel model_{{}};
  std::vector<std::int32_t> ids_ = model_.tokens(10), positions_ = std::vector<std::int32_t>(10);
  std::vector<std::unique_ptr<Backend>> backends_;
};

TEST_F(MixEncoderBatch, BadInputIsRefusedByName) {
  const Segment query{kQuery, std::span(ids_).first(3), std::span(positions_).first(3)};
  const Segment shared[] = {query};
  const std::vector<float> states(64 * 3);
  const std::span<const std::int32_t> places(positions_);
  refuse(ErrorKind::usage, "has 1 tokens, but 2 states derive from it", shared, text(1));
  refuse(ErrorKind::usage, "must be given as 2 states", shared, {kContext, {}, places.first(3), 0, states});
  refuse(ErrorKind::usage, "must be given as 2 states", shared, {kContext, std::span(ids_).first(2), places.first(2)});
  for (const auto& backend : backends_) {
    std::vector<float> room(2 * 64);
    const Segment one = text(1), two = text(4);
    expect_error(ErrorKind::usage, {"has 1 tokens, but 2 states derive from it"}, [&] {
      backend->encode({&one, 1}, room);
    });
    expect_error(ErrorKind::usage, {"room for 127 states of 128 numbers"}, [&] {
      backend->encode({&two, 1}, std::span(room).first(127));
    });
    expect_error(ErrorKind::usage, {"wrong group"}, [&] { backend->encode({&query, 1}, room); });
  }
  const RandomModel pairs({});
  for (const char* device : {"ref", "cpu"}) {
    const auto backend = pairs.on({parse_device(device), Precision::fp32, 1, ""});
    expect_error(ErrorKind::unsupported, {"no states that could be computed before a query"},
                 [&] { backend->encode({}, {}); });
  }
}

TEST_F(MixEncoderBatch, TheClockIsLookedAt) {
  const Segment shared[] = {{kQuery, std::span(ids_).first(3), std::span(positions_).first(3)}};
  const Segment candidate = text(5);
  const std::span<const Segment> candidates[] = {{&candidate, 1}};
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  std::vector<float> room(2 * 64);
  for (const auto& backend : backends_) {
    EXPECT_THROW(backend->score({shared, candidates}, std::span(room).first(1), late), Error);
    EXPECT_THROW(backend->encode({&candidate, 1}, room, late), Error);
  }
}

// Nearly a MixEncoder is not taken for one.
TEST(MixEncoderForm, OtherFormsAreNotTaken) {
  RandomModel model({});
  model.make_mix_encoder(Derivation::Kind::first_tokens, 2, {1}, Pooling::mean, Pooling::mean);
  EXPECT_TRUE(has_interaction(model.description));
  EXPECT_EQ(kind_of(model.description), EncoderKind::interaction);
  const auto refuse = [&](const char* words, const auto& spoil) {
    const EncoderDescription whole = model.description;
    spoil(model.description);
    EXPECT_FALSE(has_interaction(model.description));
    expect_error(ErrorKind::unsupported, {words}, [&] { model.on({Device::cpu(), Precision::fp32, 1, ""}); });
    model.description = whole;
  };
  refuse("does not support", [](auto& d) { d.stacks[1].layers[0].attentions[0].scale *= 2; });
  refuse("does not support",
         [](auto& d) { d.stacks[1].layers[0].attentions[0].views[kCls][kContext].kind = View::Kind::all; });
  refuse("does not support", [](auto& d) {
    d.stacks[0].layers[1].attentions[0].views[kDocument][kDocument] = {View::Kind::window, 3};
  });
  refuse("does not support", [](auto& d) { d.head.scale = 2; });
}

}  // namespace
}  // namespace relucent::testing
