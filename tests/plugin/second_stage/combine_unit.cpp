#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "relucent/combine.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"

namespace relucent {
namespace {

using Logits = std::vector<std::optional<float>>;

std::vector<std::size_t> order(const std::vector<CombinedHit>& hits) {
  std::vector<std::size_t> indices;
  for (const auto& hit : hits) indices.push_back(hit.index);
  return indices;
}

std::vector<float> scores(const std::vector<CombinedHit>& hits) {
  std::vector<float> values;
  for (const auto& hit : hits) values.push_back(hit.score);
  return values;
}

StageConfig mode(ScoreMode score_mode, double query_weight = 1, double rescore_weight = 1) {
  StageConfig config;
  config.score_mode = score_mode;
  config.query_weight = query_weight;
  config.rescore_weight = rescore_weight;
  return config;
}

using Order = std::vector<std::size_t>;
using Scores = std::vector<float>;

TEST(RescoringCombine, ReplaceOrdersByTheLogitAlone) {
  const auto hits = combine(std::vector{9.0, 8.0, 7.0}, Logits{-1.F, 3.F, 2.F}, {});
  EXPECT_EQ(order(hits), (Order{1, 2, 0}));
  EXPECT_EQ(scores(hits), (Scores{3, 2, -1}));
}

TEST(RescoringCombine, EachScoreModeIsItsFormula) {
  const std::vector<double> first{6.0};
  const Logits logits{-2.F};
  const auto score = [&](ScoreMode m) { return combine(first, logits, mode(m, 0.5, 4)).at(0).score; };
  EXPECT_EQ(score(ScoreMode::replace), -8);
  EXPECT_EQ(score(ScoreMode::total), -5);
  EXPECT_EQ(score(ScoreMode::multiply), -24);
  EXPECT_EQ(score(ScoreMode::avg), -2.5);
  EXPECT_EQ(score(ScoreMode::max), 3);
  EXPECT_EQ(score(ScoreMode::min), -8);
}

TEST(RescoringCombine, MinMaxMapsBothScoresToTheUnitIntervalOverTheWindow) {
  StageConfig config = mode(ScoreMode::total, 0.3, 1);
  config.normalize = Normalize::minmax;
  // first: 1, 0.5, 0; logits: 0, 1, 0.25
  const auto hits = combine(std::vector{12.0, 11.0, 10.0, 1.0}, Logits{-1.F, 3.F, 0.F}, config);
  EXPECT_EQ(order(hits), (Order{1, 0, 2, 3}));
  EXPECT_FLOAT_EQ(hits[0].score, 1.15F);
  EXPECT_FLOAT_EQ(hits[1].score, 0.3F);
  EXPECT_FLOAT_EQ(hits[2].score, 0.25F);
  EXPECT_DOUBLE_EQ(hits[0].first_stage_term, 0.15);
  EXPECT_DOUBLE_EQ(hits[0].rescore_term, 1.0);
}

TEST(RescoringCombine, MinMaxOfEqualScoresIsZero) {
  StageConfig config = mode(ScoreMode::total);
  config.normalize = Normalize::minmax;
  EXPECT_EQ(scores(combine(std::vector{5.0, 5.0}, Logits{2.F, 2.F}, config)), (Scores{0, 0}));
  EXPECT_EQ(scores(combine(std::vector{5.0}, Logits{2.F}, config)), (Scores{0}));
}

TEST(RescoringCombine, SigmoidMapsEachScoreByItself) {
  StageConfig config;
  config.normalize = Normalize::sigmoid;
  const auto hits = combine(std::vector{1.0, 0.0}, Logits{0.F, 1000.F}, config);
  EXPECT_EQ(scores(hits), (Scores{1, 0.5}));
  EXPECT_EQ(combine(std::vector{1.0}, Logits{-1000.F}, config).at(0).score, 0);
}

TEST(RescoringCombine, EqualScoresKeepTheFirstStagesOrder) {
  EXPECT_EQ(order(combine(std::vector{4.0, 3.0, 2.0, 1.0}, Logits{1.F, 2.F, 1.F, 2.F}, {})), (Order{1, 3, 0, 2}));
}

TEST(RescoringCombine, HitsWithoutTextStandAtTheBottomOfTheWindowInFirstStageOrder) {
  const auto hits =
      combine(std::vector{9.0, 8.0, 7.0, 6.0, 5.0, 4.0}, Logits{std::nullopt, 1.F, std::nullopt, 2.F}, {});
  EXPECT_EQ(order(hits), (Order{3, 1, 0, 2, 4, 5}));
  EXPECT_TRUE(hits[1].rescored);
  EXPECT_FALSE(hits[2].rescored);
}

TEST(RescoringCombine, TheRestIsLoweredByOneAmountJustBelowTheLastRescoredHit) {
  const auto hits = combine(std::vector{9.0, 8.0, 7.0, 5.0}, Logits{2.F, 1.F}, {});
  EXPECT_EQ(hits[2].score, std::nextafter(1.F, 0.F));
  EXPECT_NEAR(hits[3].score, -1.0, 1e-6);  // 5 as far below 7 as it was
}

TEST(RescoringCombine, TheRestKeepsItsScoresWhereTheyAreLowAlready) {
  EXPECT_EQ(scores(combine(std::vector{9.0, 8.0, 7.0}, Logits{20.F, 21.F}, {})), (Scores{21, 20, 7}));
}

TEST(RescoringCombine, WithoutAnyLogitTheFirstStageIsUnchanged) {
  const auto hits = combine(std::vector{9.0, 8.0}, Logits{std::nullopt}, {});
  EXPECT_EQ(order(hits), (Order{0, 1}));
  EXPECT_EQ(scores(hits), (Scores{9, 8}));
  EXPECT_TRUE(combine({}, {}, {}).empty());
}

TEST(RescoringCombine, MinScoreCutsTheListBeforeTheFirstLowerScore) {
  const std::vector<double> first{9.0, 8.0, 7.0, 6.0};
  // 0.7 as float is a little below 0.7 as double; it passes all the same.
  EXPECT_EQ(order(combine(first, Logits{0.F, 2.F, 0.7F}, {}, 0.7)), (Order{1, 2}));
  // Nothing rescored is too low: what was not rescored follows as far as its lowered score allows.
  EXPECT_EQ(order(combine(first, Logits{3.F, 2.F, std::nullopt}, {}, 0.7)), (Order{0, 1, 2, 3}));
  EXPECT_EQ(order(combine(first, Logits{3.F, 1.F, std::nullopt}, {}, 0.7)), (Order{0, 1, 2}));
}

TEST(RescoringCombine, ScoresThatAreNotFiniteAreErrorsThatNameTheCandidate) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Error error = testing::expect_error(ErrorKind::invalid_data, [&] {
    combine(std::vector{2.0, 1.0}, Logits{1.F, nan}, {});
  });
  EXPECT_EQ(error.place(), "candidate 2");
  EXPECT_THROW(combine(std::vector{2.0, std::nan("")}, Logits{1.F}, {}), Error);
  EXPECT_THROW(combine(std::vector{2.0}, Logits{3e38F}, mode(ScoreMode::replace, 1, 1e6)), Error);
  EXPECT_THROW(combine(std::vector{2.0}, Logits{1.F, 1.F}, {}), Error);
}

}  // namespace
}  // namespace relucent
