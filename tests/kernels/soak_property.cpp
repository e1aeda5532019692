// One backend through many searches of changing shapes: one pair is in each of them, and its bits never change.
// RELUCENT_SOAK_SECONDS: how long each way (1 by default).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

class Soak : public OnEveryWay {};

INSTANTIATE_TEST_SUITE_P(Ways, Soak, ::testing::ValuesIn(fast_ways()),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(Soak, OverChangingShapes) {
  const char* asked = std::getenv("RELUCENT_SOAK_SECONDS");
  const std::chrono::duration<double> length(asked != nullptr ? std::atof(asked) : 1);
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = false;
  pattern.window = 4;
  RandomModel model({.hidden = 128, .heads = 4, .intermediate = 256, .layers = 3, .positions = 2048}, pattern);
  const auto backend = model.on(GetParam().options);
  const std::vector<std::int32_t> query = model.tokens(7), probe = model.tokens(50);
  const float truth = Pairs{query, {probe}}.logits(*backend).front();

  std::mt19937 random(1);
  std::size_t searches = 0, documents = 0;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < length) {
    // Few and long, many and short, and all between.
    const std::size_t longest = emulated() ? 60 : std::size_t{1} << (random() % 12);
    const std::size_t most = emulated() ? 3 : 100'000 / (longest + 100);
    std::vector<std::size_t> lengths(random() % most);
    for (std::size_t& one : lengths) one = 1 + random() % std::min<std::size_t>(longest, 2048 - 8);
    Pairs pairs = random_pairs(model, 1, lengths);
    pairs.query = query;
    const std::size_t place = random() % (lengths.size() + 1);
    pairs.documents.insert(pairs.documents.begin() + static_cast<std::ptrdiff_t>(place), probe);
    const std::vector<float> logits = pairs.logits(*backend);
    ASSERT_EQ(logits[place], truth) << "search " << searches << ", candidate " << place << " of " << logits.size();
    for (const float logit : logits) ASSERT_TRUE(std::isfinite(logit));
    ++searches;
    documents += pairs.documents.size();
  }
  EXPECT_GT(searches, 0U);
  std::cout << searches << " searches, " << documents << " candidates\n";
}

}  // namespace
}  // namespace relucent::testing
