// Explanations: the search's score, and from which numbers it came.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

/// Whether a node of the tree has about this value.
bool has_value(const SearchExplanation& tree, double value) {
  if (std::abs(tree.value - value) <= 1e-6 * std::abs(value)) return true;
  for (const SearchExplanation& detail : tree.details) {
    if (has_value(detail, value)) return true;
  }
  return false;
}

std::string text_of(const SearchExplanation& tree) {
  std::string text = tree.description + "\n";
  for (const SearchExplanation& detail : tree.details) text += text_of(detail);
  return text;
}

class SearchSessionExplain : public ::testing::Test {
 protected:
  const std::vector<TextDocument> documents = numbered({"3", "5", "1", "2 long", "9", "2", "70", "80"});
  TemporaryFolder folder;
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = small_config();

  void SetUp() override {
    write_words(folder / "index", documents);
    config.rescorer.window = 6;
  }
};

TEST_F(SearchSessionExplain, HasTheScoreOfTheSearchAndNamesBothParts) {
  const std::string query = "word other3 other5";
  std::vector<double> bm25(documents.size());
  for (const FormulaHit& hit : bm25_by_formula(documents, query)) bm25[hit.document] = hit.score;
  for (const ScoreMode mode : {ScoreMode::replace, ScoreMode::total}) {
    config.rescorer.score_mode = mode;
    const auto session = session_with(folder / "index", config, {scorer});
    const SearchResult result = session->search(request_for(query, 10, Texts::none, "", true));
    const std::size_t calls = scorer->sizes.size();
    ASSERT_EQ(result.hits.size(), 8U);
    for (const SearchHit& hit : result.hits) {
      SCOPED_TRACE(hit.id);
      ASSERT_TRUE(hit.explanation);
      EXPECT_EQ(hit.explanation->value, hit.score);
      EXPECT_TRUE(has_value(*hit.explanation, bm25[static_cast<std::size_t>(hit.document)]));
      if (hit.logit) {
        EXPECT_TRUE(has_value(*hit.explanation, *hit.logit));
        EXPECT_NE(text_of(*hit.explanation).find("the number in the text"), std::string::npos);
      }
    }
    EXPECT_EQ(scorer->sizes.size(), calls) << "explaining scored again";
    for (const SearchHit& hit : result.hits) {
      const SearchExplanation alone = session->explain(query, hit.document);
      EXPECT_EQ(alone.value, hit.score);
      EXPECT_EQ(text_of(alone), text_of(*hit.explanation));
    }
    EXPECT_EQ(scorer->sizes.back(), 6U) << "the whole window, on which normalization depends";
  }
}

TEST_F(SearchSessionExplain, ScoresTheWindowOnceHoweverManyHitsAreExplained) {
  const auto session = session_with(folder / "index", config, {scorer});
  session->search(request_for("word", 10, Texts::none, "", true));
  EXPECT_EQ(scorer->sizes, std::vector<std::size_t>{6});
  const SearchResult one = session->search(request_for("word", 10, Texts::none, "d7", true));
  ASSERT_EQ(one.hits.size(), 1U);
  EXPECT_EQ(one.hits[0].explanation->value, one.hits[0].score);
  EXPECT_FALSE(session->search("word", 10, Texts::none).hits[0].explanation);
}

TEST_F(SearchSessionExplain, OfTheFirstStageIsTheFormula) {
  const auto session = bm25_session(folder / "index", config);
  const auto expected = bm25_by_formula(documents, "word other2");
  const SearchResult result = session->search(request_for("word other2", 10, Texts::none, "", true));
  ASSERT_EQ(result.hits.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(result.hits[i].explanation->value, expected[i].score, 1e-6 * expected[i].score);
    EXPECT_EQ(session->explain("word other2", result.hits[i].document).value, result.hits[i].score);
  }
  EXPECT_EQ(session->explain("other7", 0).value, 0) << "does not match";
}

}  // namespace
}  // namespace relucent::testing
