// Pages of a result: what follows the first `offset` hits of one long list.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

constexpr std::int32_t kAll = 1000;

SearchRequest page(std::int32_t offset, std::int32_t hits) {
  SearchRequest request = request_for("word", hits, HitTexts::whole, "", false);
  request.offset = offset;
  return request;
}

void expect_same_hit(const SearchHit& hit, const SearchHit& wanted) {
  SCOPED_TRACE(wanted.id);
  EXPECT_EQ(hit.id, wanted.id);
  EXPECT_EQ(hit.rank, wanted.rank);
  EXPECT_EQ(hit.score, wanted.score);
  EXPECT_EQ(hit.first_stage_rank, wanted.first_stage_rank);
  EXPECT_EQ(hit.first_stage_score, wanted.first_stage_score);
  EXPECT_EQ(hit.logit, wanted.logit);
  EXPECT_EQ(hit.stage_logits, wanted.stage_logits);
  EXPECT_EQ(status_of(hit), status_of(wanted));
  EXPECT_EQ(hit.text, wanted.text);
}

/// Pages of many sizes, each through the whole list.
void expect_pages_of(const SearchSession& session, std::size_t hits) {
  const SearchResult all = session.search(page(0, kAll));
  ASSERT_EQ(all.hits.size(), hits);
  for (const std::int32_t size : {1, 3, 7, 10, 40}) {
    std::size_t seen = 0;
    for (std::int32_t offset = 0; offset <= static_cast<std::int32_t>(hits) + size; offset += size) {
      const SearchResult part = session.search(page(offset, size));
      SCOPED_TRACE("hits from " + std::to_string(offset) + ", " + std::to_string(size) + " per page");
      EXPECT_EQ(part.total_hits, all.total_hits);
      EXPECT_EQ(part.rescored, all.rescored) << "the window does not depend on the page";
      EXPECT_FALSE(part.degraded);
      for (const SearchHit& hit : part.hits) {
        ASSERT_LT(seen, hits);
        expect_same_hit(hit, all.hits[seen++]);
      }
    }
    EXPECT_EQ(seen, hits);
  }
}

class SearchSessionPages : public ::testing::Test {
 protected:
  static constexpr std::size_t kDocuments = 37;
  TemporaryFolder folder;
  Config config = small_config();

  void SetUp() override {
    std::mt19937 random(11);
    std::vector<std::string> beginnings;
    for (std::size_t i = 0; i < kDocuments; ++i) beginnings.push_back(std::to_string(random() % 9));  // with ties
    write_words(folder / "index", numbered(beginnings), 8);
    config.rescorer.window = 12;
  }
  std::unique_ptr<SearchSession> session(std::size_t stages = 1) const {
    return session_with(folder / "index", config,
                        std::vector<std::shared_ptr<const Scorer>>(stages, std::make_shared<NumberScorer>()));
  }
};

TEST_F(SearchSessionPages, AreTheListWithoutASecondStage) {
  expect_pages_of(*bm25_session(folder / "index", config), kDocuments);
}

TEST_F(SearchSessionPages, AreTheListAcrossTheEndOfTheWindow) { expect_pages_of(*session(), kDocuments); }

TEST_F(SearchSessionPages, AreTheListHoweverScoresAreCombined) {
  for (const ScoreMode mode : {ScoreMode::total, ScoreMode::multiply, ScoreMode::min}) {
    for (const Normalize normalize : {Normalize::none, Normalize::minmax, Normalize::sigmoid}) {
      config.rescorer.score_mode = mode;
      config.rescorer.normalize = normalize;
      expect_pages_of(*session(), kDocuments);
    }
  }
}

TEST_F(SearchSessionPages, AreTheListOfACascade) {
  config.rescorer.stages.resize(2);
  config.rescorer.stages[0].window = 20;
  config.rescorer.stages[1].window = 6;
  expect_pages_of(*session(2), kDocuments);
}

TEST_F(SearchSessionPages, EndWithTheLeastScore) {
  config.rescorer.min_score = 4;
  const auto least = session();
  const std::size_t hits = least->search(page(0, kAll)).hits.size();
  ASSERT_GT(hits, 1U);
  ASSERT_LT(hits, 12U);
  expect_pages_of(*least, hits);
}

TEST_F(SearchSessionPages, AreOfTheFirstStageIfTheSecondFails) {
  const auto broken = std::make_shared<NumberScorer>();
  broken->before = [](const StopSignal&) { throw Error(ErrorKind::deadline, "test", "too late"); };
  const auto failing = session_with(folder / "index", config, {broken});
  const SearchResult first = bm25_session(folder / "index", config)->search(page(0, kAll));
  for (const std::int32_t offset : {0, 10, 20, 30}) {
    const SearchResult part = failing->search(page(offset, 10));
    EXPECT_TRUE(part.degraded);
    for (std::size_t i = 0; i < part.hits.size(); ++i) {
      expect_same_hit(part.hits[i], first.hits[static_cast<std::size_t>(offset) + i]);
    }
  }
}

TEST_F(SearchSessionPages, HaveOneHitById) {
  SearchRequest request = page(10, 10);
  const SearchResult all = session()->search(request);
  request.id = all.hits[3].id;
  const SearchResult one = session()->search(request);
  ASSERT_EQ(one.hits.size(), 1U);
  expect_same_hit(one.hits[0], all.hits[3]);
  request.id = session()->search(page(0, 10)).hits[3].id;
  EXPECT_TRUE(session()->search(request).hits.empty()) << "it is on another page";
}

TEST_F(SearchSessionPages, ThatCannotBeAreErrors) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const auto searcher = session();
  EXPECT_TRUE(searcher->search(page(most - 10, 10)).hits.empty());
  expect_error(ErrorKind::usage, {"offset 2147483637", "11 hits", "2147483647"},
               [&] { searcher->search(page(most - 10, 11)); });
  expect_error(ErrorKind::usage, "the offset is -1", [&] { searcher->search(page(-1, 10)); });
  expect_error(ErrorKind::usage, "-1 hits", [&] { searcher->search(page(0, -1)); });
}

}  // namespace
}  // namespace relucent::testing
