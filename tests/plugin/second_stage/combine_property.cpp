#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "relucent/combine.h"

namespace relucent {
namespace {

struct Case {
  std::vector<double> first_stage;
  std::vector<std::optional<float>> logits;
  StageConfig config;
};

// Few distinct values, so that ties are common; some hits without text.
Case random_case(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Case c;
  const int hits = below(40), window = below(hits + 1);
  for (int i = 0; i < hits; ++i) c.first_stage.push_back(static_cast<float>(below(60)) / 3.0F);
  std::sort(c.first_stage.rbegin(), c.first_stage.rend());
  for (int i = 0; i < window; ++i) {
    c.logits.push_back(below(5) == 0 ? std::nullopt : std::optional(static_cast<float>(below(20) - 10) / 7.0F));
  }
  c.config.score_mode = static_cast<ScoreMode>(below(6));
  c.config.normalize = static_cast<Normalize>(below(3));
  c.config.query_weight = below(5) - 2;
  c.config.rescore_weight = below(3) + 0.1;
  return c;
}

TEST(RescoringCombineProperty, OrderIsAPermutationWithFallingScoresAndRescoredHitsOnTop) {
  std::mt19937 random(20231);
  for (int round = 0; round < 20000; ++round) {
    const Case c = random_case(random);
    const auto hits = combine(c.first_stage, c.logits, c.config);
    ASSERT_EQ(hits.size(), c.first_stage.size());
    std::vector<bool> seen(hits.size());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      ASSERT_FALSE(seen[hits[i].index]);
      seen[hits[i].index] = true;
      ASSERT_EQ(hits[i].rescored, hits[i].index < c.logits.size() && c.logits[hits[i].index].has_value());
      if (i == 0) continue;
      ASSERT_LE(hits[i].score, hits[i - 1].score);
      ASSERT_LE(hits[i].rescored, hits[i - 1].rescored);
      const bool first_of_the_rest = hits[i - 1].rescored && !hits[i].rescored;
      if (first_of_the_rest) {
        ASSERT_LT(hits[i].score, hits[i - 1].score);
      }
      const bool tie = hits[i].score == hits[i - 1].score;
      if (!hits[i].rescored && !first_of_the_rest) {
        ASSERT_GT(hits[i].index, hits[i - 1].index);
      }
      if (hits[i].rescored && tie) {
        ASSERT_GT(hits[i].index, hits[i - 1].index);
      }
    }
  }
}

TEST(RescoringCombineProperty, MinScoreLeavesAPrefixOfTheWholeOrder) {
  std::mt19937 random(20232);
  for (int round = 0; round < 20000; ++round) {
    Case c = random_case(random);
    const auto whole = combine(c.first_stage, c.logits, c.config);
    const double min_score = static_cast<double>(random() % 100) / 20.0 - 2.0;
    const auto cut = combine(c.first_stage, c.logits, c.config, min_score);
    ASSERT_LE(cut.size(), whole.size());
    for (std::size_t i = 0; i < cut.size(); ++i) {
      ASSERT_EQ(cut[i].index, whole[i].index);
      ASSERT_EQ(cut[i].score, whole[i].score);
      ASSERT_GE(cut[i].score, static_cast<float>(min_score));
    }
    if (cut.size() < whole.size()) {
      ASSERT_LT(whole[cut.size()].score, static_cast<float>(min_score));
    }
  }
}

TEST(RescoringCombineProperty, MoreHitsBeyondTheWindowChangeNothingAboveThem) {
  std::mt19937 random(20233);
  for (int round = 0; round < 20000; ++round) {
    const Case c = random_case(random);
    const auto whole = combine(c.first_stage, c.logits, c.config);
    const std::size_t fewer = c.logits.size() + random() % (c.first_stage.size() - c.logits.size() + 1);
    const auto part = combine(std::span(c.first_stage).first(fewer), c.logits, c.config);
    ASSERT_EQ(part.size(), fewer);
    for (std::size_t i = 0; i < fewer; ++i) {
      ASSERT_EQ(part[i].index, whole[i].index);
      ASSERT_EQ(part[i].score, whole[i].score);
    }
  }
}

}  // namespace
}  // namespace relucent
