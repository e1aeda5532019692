// Both scores in one, for every mode, normalization and weight: compared with the formulas of the documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

std::vector<double> normalized_by_hand(std::vector<double> values, Normalize how) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double low = *least, high = *most;
  for (double& value : values) {
    if (how == Normalize::minmax) value = high > low ? (value - low) / (high - low) : 0;
    if (how == Normalize::sigmoid) value = 1 / (1 + std::exp(-value));
  }
  return values;
}

double combined_by_hand(ScoreMode mode, double logit, double bm25) {
  switch (mode) {
    case ScoreMode::replace: return logit;
    case ScoreMode::total: return logit + bm25;
    case ScoreMode::multiply: return logit * bm25;
    case ScoreMode::avg: return (logit + bm25) / 2;
    case ScoreMode::max: return std::max(logit, bm25);
    case ScoreMode::min: return std::min(logit, bm25);
  }
  return 0;
}

class SearchSessionCombine : public ::testing::Test {
 protected:
  const std::vector<std::string> numbers = {"0.25", "-1.5", "0.03", "2", "-0.01", "0.25", "0.5", "9"};
  static constexpr std::size_t kWindow = 6;
  TemporaryFolder folder;
  Config config = small_config();
  std::vector<TextDocument> documents = numbered(numbers);

  void SetUp() override {
    write_words(folder / "index", documents);
    config.rescorer.window = kWindow;
  }
  SearchResult search(std::int32_t n = 10) {
    return session_with(folder / "index", config, {std::make_shared<NumberScorer>()})->search("word", n, Texts::none);
  }
};

TEST_F(SearchSessionCombine, IsTheDocumentedFormulaInEveryMode) {
  std::vector<double> bm25, logits;
  for (const FormulaHit& hit : bm25_by_formula(documents, "word")) bm25.push_back(hit.score);
  for (std::size_t i = 0; i < kWindow; ++i) logits.push_back(std::stof(numbers[i]));
  const std::vector<double> window_scores(bm25.begin(), bm25.begin() + kWindow);
  for (const ScoreMode mode :
       {ScoreMode::replace, ScoreMode::total, ScoreMode::multiply, ScoreMode::avg, ScoreMode::max, ScoreMode::min}) {
    for (const Normalize normalize : {Normalize::none, Normalize::minmax, Normalize::sigmoid}) {
      for (const auto& [query_weight, rescore_weight] : {std::pair(1.0, 1.0), std::pair(3.0, 0.25)}) {
        SCOPED_TRACE(std::string(to_string(mode)) + " " + std::string(to_string(normalize)));
        config.rescorer.score_mode = mode;
        config.rescorer.normalize = normalize;
        config.rescorer.query_weight = query_weight;
        config.rescorer.rescore_weight = rescore_weight;
        const std::vector<double> f = normalized_by_hand(window_scores, normalize);
        const std::vector<double> s = normalized_by_hand(logits, normalize);
        std::vector<double> expected;
        for (std::size_t i = 0; i < kWindow; ++i) {
          expected.push_back(combined_by_hand(mode, rescore_weight * s[i], query_weight * f[i]));
        }
        const SearchResult result = search();
        ASSERT_EQ(result.hits.size(), numbers.size());
        EXPECT_EQ(result.rescored, static_cast<std::int64_t>(kWindow));
        std::vector<bool> seen(numbers.size());
        for (std::size_t i = 0; i < result.hits.size(); ++i) {
          const SearchHit& hit = result.hits[i];
          const auto document = static_cast<std::size_t>(hit.document);
          EXPECT_FALSE(seen[document]);
          seen[document] = true;
          EXPECT_EQ(document < kWindow, i < kWindow) << hit.id;
          if (document < kWindow) {
            // The range of the first stage's scores is a hundredth of a score, so minmax enlarges their rounding.
            EXPECT_NEAR(hit.score, expected[document], 1e-5) << hit.id;
            EXPECT_EQ(hit.logit, static_cast<float>(logits[document]));
          } else {
            EXPECT_EQ(document, i) << "the first stage's order";
            EXPECT_LT(hit.score, result.hits[i - 1].score);
          }
          if (i > 0) {
            const SearchHit& better = result.hits[i - 1];
            EXPECT_TRUE(hit.score < better.score ||
                        (hit.score == better.score && hit.first_stage_rank > better.first_stage_rank))
                << hit.id;
          }
        }
      }
    }
  }
}

TEST_F(SearchSessionCombine, MinScoreCutsTheListOffAndLeavesTheTotal) {
  config.rescorer.min_score = 0.2;
  const SearchResult result = search();
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{3, 0, 5}));
  EXPECT_EQ(result.total_hits, 8);
  EXPECT_EQ(result.rescored, 6);
  config.rescorer.min_score = 100;
  EXPECT_TRUE(search().hits.empty());
}

}  // namespace
}  // namespace relucent::testing
