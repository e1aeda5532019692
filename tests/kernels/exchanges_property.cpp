// Exchanges between the passages of documents (MIR): every backend computes what the reference computes, and a
// document's bits depend on nothing else.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/kept_reference.h"
#include "tests/support/passage_inputs.h"

namespace relucent::testing {
namespace {

class Exchanges : public OnEveryWay {};

INSTANTIATE_TEST_SUITE_P(Ways, Exchanges, ::testing::ValuesIn(fast_ways()),
                         [](const auto& way) { return name_of(way.param); });

// Without pivots of words, with few pivots, and with more than 16 and than 64 that see the same ones.
const std::vector<std::vector<std::size_t>> kLengths = {{2}, {30, 17, 30}, {5, 100}, std::vector<std::size_t>(9, 100)};

TEST_P(Exchanges, AreThoseOfTheReference) {
  for (const std::int32_t hidden : {72, 136}) {
    for (const std::size_t query : {0, 6}) {
      if (emulated() && (hidden == 72) != (query == 0)) continue;
      RandomModel model({.hidden = hidden, .heads = hidden == 72 ? 3 : 17, .intermediate = 100});
      model.make_exchanges();
      const PassageInputs inputs(model, query, kLengths);
      const auto ref = kept_reference(model);
      const auto backend = model.on(GetParam().options);
      EXPECT_LE(furthest(inputs.scores(*backend), inputs.scores(*ref)), GetParam().tolerance * 3)
          << "hidden " << hidden << ", query " << query;
    }
  }
}

TEST_P(Exchanges, OfADocumentDependOnNothingElse) {
  RandomModel model({.hidden = 64, .heads = 4, .intermediate = 100, .layers = 2});
  model.make_exchanges();
  std::vector<std::vector<std::size_t>> lengths = kLengths;
  for (std::size_t i = 0; i < 12; ++i) lengths.push_back({20 + i, 40, 7});
  const PassageInputs inputs(model, 5, lengths);
  const auto backend = model.on(GetParam().options);
  const std::vector<float> together = inputs.scores(*backend);
  for (const std::size_t i : {0, 2, 3, 7, 15}) {
    EXPECT_EQ(inputs.scores(*backend, i, 1), std::vector<float>(1, together[i])) << i;
  }
  EXPECT_EQ(inputs.scores(*backend), together);
}

TEST_P(Exchanges, LookAtTheClock) {
  RandomModel model({});
  model.make_exchanges();
  const PassageInputs inputs(model, 5, kLengths);
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto backend = model.on(GetParam().options);
  expect_error(ErrorKind::deadline, [&] { inputs.scores(*backend, 0, 2, late); });
}

}  // namespace
}  // namespace relucent::testing
