// What a session reports about its answer: statuses, counts, notices, statistics.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rescoring_support.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

/// Has nothing to read in a text with "blank", does not see the end of a query with "lengthy", and may report that
/// another device answered.
class TellingScorer : public NumberScorer {
 public:
  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    score(query, candidates, scores, stop);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scores[i].unreadable = candidates[i].text.find("blank") != std::string_view::npos;
      scores[i].query_truncated = query.find("lengthy") != std::string_view::npos;
    }
    return {{}, fallback};
  }
  std::string notice() const override { return "no GPU was found"; }
  std::string warning() const override { return "its pattern is another one"; }
  std::string fallback;
};

class SearchSessionOutcomes : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::shared_ptr<TellingScorer> scorer = std::make_shared<TellingScorer>();
  Config config = small_config();

  SearchResult search(const std::string& query = "word", QuerySyntax syntax = QuerySyntax::words) {
    return session_with(folder / "index", config, {scorer}, syntax)->search(query, 10, Texts::none);
  }
};

TEST_F(SearchSessionOutcomes, HitsThatTheModelCannotReadStandAtTheBottomOfTheWindow) {
  write_words(folder / "index", numbered({"8 blank", "1", "9 blank", "5 long", "2", "7"}));
  config.rescorer.window = 5;
  const SearchResult result = search();
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{3, 4, 1, 0, 2, 5}));
  EXPECT_EQ(statuses_of(result), (std::vector<std::string>{"rescored", "rescored", "rescored", "without_text",
                                                           "without_text", "beyond_window"}));
  EXPECT_EQ(result.rescored, 3);
  EXPECT_EQ(result.without_text, 2);
  EXPECT_EQ(result.truncated, 1);
  EXPECT_TRUE(result.hits[0].truncated);
  EXPECT_FALSE(result.hits[1].truncated);
  EXPECT_FALSE(result.hits[3].logit);
  EXPECT_EQ(status_of(result), "rescored");
  EXPECT_FALSE(result.degraded);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_LT(result.hits[i].score, result.hits[i - 1].score);
}

TEST_F(SearchSessionOutcomes, DocumentsWithoutAStoredTextAreCountedAndOnlyThatIsNoFailure) {
  const SmallIndex gaps(ten_documents({std::nullopt, "1", " \t", "2", "", "3"}));
  const auto session = session_with(gaps.folder(), config, {scorer});
  const SearchResult result = session->search("word", 10, Texts::whole);
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{5, 3, 1, 0, 2, 4, 6, 7, 8, 9}));
  EXPECT_EQ(result.rescored, 3);
  EXPECT_EQ(result.without_text, 7);
  EXPECT_EQ(status_of(result.hits[3]), "without_text");
  EXPECT_EQ(result.hits[3].text, "");
  EXPECT_EQ(result.hits[0].text, "3");
  EXPECT_FALSE(result.degraded);
}

TEST_F(SearchSessionOutcomes, IfNoHitHasATextTheFirstStageStands) {
  write_words(folder / "index", numbered({"8 blank", "1 blank", "9 blank"}));
  const SearchResult result = search();
  EXPECT_EQ(status_of(result), "no_hit_text");
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{0, 1, 2}));
  EXPECT_FALSE(result.degraded);
  EXPECT_EQ(result.without_text, 3);
  EXPECT_NE(result.reason.find("3 hits"), std::string::npos) << result.reason;
}

TEST_F(SearchSessionOutcomes, AQueryWithoutATextForTheModelIsAnsweredByTheFirstStage) {
  write_words(folder / "index", numbered({"1", "2", "3"}));
  const SearchResult result = search("*:*", QuerySyntax::lucene);
  EXPECT_EQ(status_of(result), "no_query_text");
  expect_first_stage_order(result,
                           bm25_session(folder / "index", config, QuerySyntax::lucene)->search("*:*", 10, Texts::none));
  EXPECT_EQ(result.total_hits, 3);
  EXPECT_FALSE(result.degraded || result.no_words);
  EXPECT_FALSE(result.reason.empty());
  EXPECT_TRUE(scorer->queries.empty());
}

TEST_F(SearchSessionOutcomes, ACutQueryIsTold) {
  write_words(folder / "index", numbered({"1", "2"}));
  EXPECT_FALSE(search("word").query_truncated);
  EXPECT_TRUE(search("word lengthy").query_truncated);
}

TEST_F(SearchSessionOutcomes, AnotherDeviceMeansDegradedThoughRescored) {
  write_words(folder / "index", numbered({"1", "2"}));
  scorer->fallback = "the fan of cuda:0 stopped";
  const SearchResult result = search();
  EXPECT_TRUE(result.degraded);
  EXPECT_EQ(status_of(result), "rescored");
  EXPECT_EQ(result.reason, "the fan of cuda:0 stopped");
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{1, 0}));
  EXPECT_FALSE(result.by_earlier_stages);
}

TEST_F(SearchSessionOutcomes, NoticesAndScorerAreThoseOfEachStage) {
  write_words(folder / "index", numbered({"1", "2"}));
  config.rescorer.stages.resize(2);
  const auto session = session_with(folder / "index", config, {scorer, std::make_shared<NumberScorer>()});
  EXPECT_EQ(session->scorer(), "the number in the text; no GPU was found\nthe number in the text");
  EXPECT_EQ(session->notices(), std::vector<std::string>{"its pattern is another one"});
  EXPECT_EQ(bm25_session(folder / "index", config)->scorer(), "");
}

TEST_F(SearchSessionOutcomes, StatisticsAreCountsAndTheirSumMakesTwoHalvesScoreAsOne) {
  const std::vector<TextDocument> all = {{"d0", "1 red bread"},     {"d1", "2 bread bread"}, {"d2", "3 green"},
                                         {"d3", "4 red red green"}, {"d4", "5 bread"},       {"d5", "6 red bread x"}};
  write_words(folder / "a", {all.begin(), all.begin() + 2});
  write_words(folder / "b", {all.begin() + 2, all.end()});
  const auto a = bm25_session(folder / "a", config), b = bm25_session(folder / "b", config);
  CollectionStatistics sum = a->statistics("red bread");
  EXPECT_EQ(sum.fields.at("contents").totals, (FieldStatistics{2, 6}));
  sum += b->statistics("red bread");
  EXPECT_EQ(sum.fields.at("contents").totals, (FieldStatistics{6, 18}));
  EXPECT_EQ(sum.fields.at("contents").document_frequencies,
            (std::map<std::string, std::int64_t>{{"red", 3}, {"bread", 4}}));

  const auto expected = bm25_by_formula(all, "red bread");
  SearchRequest request = request_for("red bread", 10, Texts::none, "", false);
  request.statistics = sum;
  const auto expect_scores = [&](const auto& search) {
    std::size_t seen = 0;
    for (const auto* half : {&a, &b}) {
      for (const SearchHit& hit : search(**half).hits) {
        const auto document = static_cast<std::size_t>(hit.id[1] - '0');
        const auto same =
            std::find_if(expected.begin(), expected.end(), [&](const auto& e) { return e.document == document; });
        ASSERT_NE(same, expected.end());
        EXPECT_NEAR(hit.score, same->score, 1e-6 * same->score) << hit.id;
        ++seen;
      }
    }
    EXPECT_EQ(seen, expected.size());
  };
  expect_scores([&](const SearchSession& half) { return half.search(request); });
  const CollectionStatisticsScope scope(sum);
  expect_scores([&](const SearchSession& half) { return half.search("red bread", 10, Texts::none); });
}

}  // namespace
}  // namespace relucent::testing
