// The hits of a session: their order, ranks and scores, with and without a second stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

std::vector<TextDocument> random_documents(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TextDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = "t" + std::to_string(random() % 12);
    for (std::size_t words = random() % 35; words > 0; --words)
      text += " t" + std::to_string(random() % 12 * (random() % 4));
    documents.push_back({"d" + std::to_string(i), text});
  }
  return documents;
}

TEST(SearchSessionResults, WithoutRescoringAreBm25ByTheFormula) {
  const std::vector<TextDocument> documents = random_documents(150, 7);
  for (const std::size_t segment : {1000U, 40U}) {
    const TemporaryFolder folder;
    write_words(folder / "index", documents, segment);
    for (const auto& [k1, b] : {std::pair(0.9, 0.4), std::pair(1.2, 0.75)}) {
      Config config = small_config();
      config.first_stage.k1 = k1;
      config.first_stage.b = b;
      const auto session = bm25_session(folder / "index", config);
      for (const std::string query : {"t11", "t1 t2", "t3 t3 t22", "t0 t27 t5 absent", "t4 t6 t8 t10"}) {
        const auto expected = bm25_by_formula(documents, query, k1, b);
        const SearchResult result = session->search(query, 1000, Texts::none);
        ASSERT_EQ(result.hits.size(), expected.size()) << query;
        EXPECT_EQ(result.total_hits, static_cast<std::int64_t>(expected.size()));
        EXPECT_EQ(result.query, query);
        EXPECT_FALSE(result.rescoring);
        EXPECT_TRUE(result.stages.empty());
        EXPECT_FALSE(result.degraded);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const SearchHit& hit = result.hits[i];
          EXPECT_EQ(hit.id, documents[expected[i].document].id) << query << ", rank " << i + 1;
          EXPECT_EQ(hit.document, static_cast<std::int32_t>(expected[i].document));
          EXPECT_NEAR(hit.score, expected[i].score, 1e-6 * expected[i].score);
          EXPECT_EQ(hit.rank, static_cast<std::int64_t>(i) + 1);
          EXPECT_EQ(hit.first_stage_rank, hit.rank);
          EXPECT_EQ(hit.first_stage_score, hit.score);
          EXPECT_EQ(status_of(hit), "not_rescored");
          EXPECT_FALSE(hit.logit || hit.passage || hit.explanation || hit.truncated);
        }
        std::vector<std::string> best = ids_of(result);
        best.resize(std::min<std::size_t>(best.size(), 5));
        EXPECT_EQ(ids_of(session->search(query, 5, Texts::none)), best);
      }
    }
  }
}

class SearchSessionRescored : public ::testing::Test {
 protected:
  // First stage: 0, 1, ... 9. The scorer: 4 (9) 1 (5) 0 (3) 3 (2, tie) 5 (2) 2 (-1); 6 to 9 are beyond the window of 6.
  const std::vector<TextDocument> documents = numbered({"3", "5", "-1", "2", "9", "2", "70", "80", "90", "100"});
  const std::vector<std::size_t> order = {4, 1, 0, 3, 5, 2, 6, 7, 8, 9};
  const std::vector<float> logits = {9, 5, 3, 2, 2, -1};
  TemporaryFolder folder;
  std::shared_ptr<NumberScorer> scorer = std::make_shared<NumberScorer>();
  Config config = small_config();

  void SetUp() override {
    write_words(folder / "index", documents, 4);
    config.rescorer.window = 6;
  }
  std::unique_ptr<SearchSession> session() { return session_with(folder / "index", config, {scorer}); }
};

TEST_F(SearchSessionRescored, AreOrderedByTheScorerInTheWindowAndByTheFirstStageBelow) {
  const auto bm25 = bm25_by_formula(documents, "word");
  const SearchResult result = session()->search("word", 10, Texts::none);
  ASSERT_EQ(ids_of(result), ids_of(order));
  EXPECT_EQ(status_of(result), "rescored");
  EXPECT_TRUE(result.rescoring);
  EXPECT_EQ(result.rescored, 6);
  EXPECT_EQ(result.total_hits, 10);
  EXPECT_EQ(result.without_text, 0);
  EXPECT_FALSE(result.degraded);
  EXPECT_EQ(result.reason, "");
  ASSERT_EQ(result.stages.size(), 1U);
  EXPECT_EQ(result.stages[0].scorer, "the number in the text");
  EXPECT_EQ(result.stages[0].rescored, 6);
  for (std::size_t i = 0; i < 10; ++i) {
    const SearchHit& hit = result.hits[i];
    SCOPED_TRACE(hit.id);
    EXPECT_EQ(hit.rank, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(hit.document, static_cast<std::int32_t>(order[i]));
    EXPECT_EQ(hit.first_stage_rank, static_cast<std::int64_t>(order[i]) + 1);
    EXPECT_NEAR(hit.first_stage_score, bm25[order[i]].score, 1e-6 * bm25[order[i]].score);
    if (i < 6) {
      EXPECT_EQ(status_of(hit), "rescored");
      EXPECT_EQ(hit.logit, logits[i]);
      EXPECT_EQ(hit.score, logits[i]);
      EXPECT_EQ(hit.stage_logits, std::vector<float>{logits[i]});
    } else {
      EXPECT_EQ(status_of(hit), "beyond_window");
      EXPECT_FALSE(hit.logit);
      EXPECT_TRUE(hit.stage_logits.empty());
      EXPECT_LT(hit.score, result.hits[i - 1].score);
      // All of them are lowered by the same amount.
      EXPECT_NEAR(hit.score - hit.first_stage_score, result.hits[6].score - result.hits[6].first_stage_score, 1e-6);
    }
  }
}

TEST_F(SearchSessionRescored, OfAPageAreThoseOfTheWholeAndTheWindowIsTheSame) {
  const auto open = session();
  const SearchResult whole = open->search("word", 10, Texts::none);
  for (const std::int32_t n : {1, 2, 5, 6, 7, 9, 1000}) {
    const SearchResult page = open->search("word", n, Texts::none);
    ASSERT_EQ(page.hits.size(), static_cast<std::size_t>(std::min(n, 10)));
    for (std::size_t i = 0; i < page.hits.size(); ++i) {
      EXPECT_EQ(page.hits[i].id, whole.hits[i].id);
      EXPECT_EQ(page.hits[i].score, whole.hits[i].score);
      EXPECT_EQ(page.hits[i].rank, whole.hits[i].rank);
    }
    EXPECT_EQ(page.total_hits, 10);
    EXPECT_EQ(page.rescored, 6);
  }
  EXPECT_EQ(scorer->sizes, std::vector<std::size_t>(8, 6));
  EXPECT_EQ(scorer->ids, ids_of(std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(scorer->queries, std::vector<std::string>(8, "word"));
}

TEST_F(SearchSessionRescored, OfAWindowLargerThanTheHitsAreAllScored) {
  config.rescorer.window = 1000;
  const SearchResult result = session()->search("word", 3, Texts::none);
  EXPECT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{9, 8, 7}));
  EXPECT_EQ(result.rescored, 10);
}

TEST_F(SearchSessionRescored, OfOneIdAreThatHitWithItsRank) {
  const SearchResult result = session()->search(request_for("word", 10, Texts::none, "d3", false));
  ASSERT_EQ(ids_of(result), std::vector<std::string>{"d3"});
  EXPECT_EQ(result.hits[0].rank, 4);
  EXPECT_EQ(result.hits[0].score, 2);
  EXPECT_EQ(result.total_hits, 10);
  EXPECT_TRUE(session()->search(request_for("word", 2, Texts::none, "d3", false)).hits.empty())
      << "not among the best two";
  EXPECT_TRUE(session()->search(request_for("word", 10, Texts::none, "absent", false)).hits.empty());
}

TEST_F(SearchSessionRescored, WithoutMatchesAreEmptyAndTheScorerIsNotAsked) {
  const SearchResult result = session()->search("absent", 10, Texts::none);
  EXPECT_TRUE(result.hits.empty());
  EXPECT_EQ(result.total_hits, 0);
  EXPECT_EQ(status_of(result), "no_hits");
  EXPECT_FALSE(result.degraded || result.no_words);
  EXPECT_TRUE(scorer->sizes.empty());
}

TEST_F(SearchSessionRescored, NeedAtLeastOneHitToBeAskedFor) {
  for (const std::int32_t n : {0, -1}) EXPECT_THROW(session()->search("word", n, Texts::none), Error) << n;
}

TEST_F(SearchSessionRescored, TakeTheStagesTimesIntoTheTotal) {
  scorer->before = [](const StopSignal&) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  const SearchResult result = session()->search("word", 10, Texts::none);
  EXPECT_GE(in_milliseconds(result.times.encode), 3);
  EXPECT_EQ(result.stages.at(0).times.encode, result.times.encode);
  EXPECT_GE(result.total, result.times.parse + result.times.first_stage + result.times.fetch + result.times.encode);
  EXPECT_GT(result.times.first_stage.count(), 0);
  EXPECT_LT(in_milliseconds(result.times.first_stage), in_milliseconds(result.total) - 3)
      << "without the scorer's time";
}

// Own ids in the queries' language: each expected set is read off the documents above.
TEST(SearchSessionSyntax, OfLuceneFindsWhatItsOperatorsSay) {
  const TemporaryFolder folder;
  write_words(folder / "index",
              {{"d0", "red bread keeps"}, {"d1", "bread red"}, {"d2", "red"}, {"d3", "green breadth"}});
  const auto session = bm25_session(folder / "index", small_config(), QuerySyntax::lucene);
  const auto found = [&](const std::string& query) {
    auto ids = ids_of(session->search(query, 10, Texts::none));
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(found("red bread"), (Ids{"d0", "d1", "d2"}));
  EXPECT_EQ(found("+red +bread"), (Ids{"d0", "d1"}));
  EXPECT_EQ(found("red -bread"), (Ids{"d2"}));
  EXPECT_EQ(found("\"red bread\""), (Ids{"d0"}));
  EXPECT_EQ(found("bread*"), (Ids{"d0", "d1", "d3"}));
  EXPECT_EQ(found("id:d2"), (Ids{"d2"}));
  EXPECT_EQ(found("contents:green"), (Ids{"d3"}));
  EXPECT_EQ(found("unknown_field:green"), Ids{});
  // As words, the same characters have no meaning.
  const auto words = bm25_session(folder / "index", small_config());
  EXPECT_EQ(words->search("+red -bread", 10, Texts::none).total_hits, 0) << "words between blanks";
}

TEST(SearchSessionSyntax, OfStopWordsAloneHasNoWords) {
  const TemporaryFolder folder;
  IndexBuilder::Options options;
  const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, options);
  builder->add("d0", "The bread is in the bag");
  builder->close();
  Config config = small_config();
  config.first_stage.analyzer = AnalyzerKind::english;
  const auto scorer = std::make_shared<NumberScorer>();
  const auto session = session_with(folder / "index", config, {scorer});
  const SearchResult none = session->search("the is in ?!", 10, Texts::none);
  EXPECT_TRUE(none.no_words);
  EXPECT_TRUE(none.hits.empty());
  EXPECT_EQ(status_of(none), "no_hits");
  EXPECT_FALSE(none.degraded);
  EXPECT_TRUE(scorer->sizes.empty());
  const SearchResult some = session->search("The BAGS?", 10, Texts::none);
  EXPECT_FALSE(some.no_words);
  EXPECT_EQ(ids_of(some), std::vector<std::string>{"d0"});
  EXPECT_EQ(scorer->queries, std::vector<std::string>{"The BAGS?"}) << "the model reads the text as it was typed";
}

}  // namespace
}  // namespace relucent::testing
