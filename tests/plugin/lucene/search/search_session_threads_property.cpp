// Many threads and many searches: the answers of one, also while the index grows, and no memory that grows with them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "relucent/rescorer.h"
#include "relucent/searcher_manager.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// The number that the text begins with; remembers nothing.
class ForgetfulScorer : public Scorer {
 public:
  void score(std::string_view, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal&) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scores[i].score = std::strtof(std::string(candidates[i].text).c_str(), nullptr);
    }
  }
  bool cacheable() const override { return true; }
  std::string describe() const override { return "the number in the text"; }
};

std::vector<TextDocument> documents_of_words(std::size_t count) {
  std::mt19937 random(3);
  std::vector<TextDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = std::to_string(random() % 1000) + " every";
    for (std::size_t words = random() % 20; words > 0; --words) text += " w" + std::to_string(random() % 15);
    documents.push_back({"d" + std::to_string(i), text});
  }
  return documents;
}

/// The ids that a search must give: the formula's best `window`, by their number and then by the formula's rank.
std::vector<std::string> expected_ids(const std::vector<TextDocument>& documents, const std::string& query,
                                      std::size_t window, std::size_t n) {
  std::vector<FormulaHit> hits = bm25_by_formula(documents, query);
  const auto end = hits.begin() + static_cast<std::ptrdiff_t>(std::min(window, hits.size()));
  const auto number = [&](const FormulaHit& hit) { return std::stoi(documents[hit.document].text); };
  std::stable_sort(hits.begin(), end, [&](const auto& a, const auto& b) { return number(a) > number(b); });
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::min(n, hits.size()); ++i) ids.push_back(documents[hits[i].document].id);
  return ids;
}

class SearchSessionThreads : public ::testing::TestWithParam<std::int32_t> {};

TEST_P(SearchSessionThreads, OnOneSessionGetTheAnswersOfOne) {
  const TemporaryFolder folder;
  const std::vector<TextDocument> documents = documents_of_words(200);
  write_words(folder / "index", documents, 60);
  Config config = small_config();
  config.rescorer.window = 20;
  config.rescorer.cache_mb = GetParam();
  const auto session = session_with(folder / "index", config, {std::make_shared<ForgetfulScorer>()});
  std::vector<std::string> queries;
  std::vector<std::vector<std::string>> expected;
  for (int i = 0; i < 15; ++i) {
    queries.push_back("w" + std::to_string(i) + " w" + std::to_string(i * 7 % 15) + (i % 3 == 0 ? " every" : ""));
    expected.push_back(expected_ids(documents, queries.back(), 20, 30));
  }
  constexpr std::size_t count = 8;
  std::latch start(count);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (std::size_t i = 0; i < 4 * queries.size(); ++i) {
        const std::size_t query = (i * (2 * t + 1) + t) % queries.size();
        const SearchResult result = session->search(queries[query], 30, Texts::whole);
        if (ids_of(result) != expected[query] || result.query != queries[query]) ++wrong;
        for (const SearchHit& hit : result.hits) {
          if (hit.text != documents[static_cast<std::size_t>(hit.document)].text) ++wrong;
        }
        if (i % 8 == t && session->explain(queries[query], result.hits[0].document).value != result.hits[0].score) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutACache, SearchSessionThreads, ::testing::Values(0, 1));

TEST(SearchSessionRefresh, EachSearchSeesOneCommitWhileTheIndexGrows) {
  const TemporaryFolder folder;
  constexpr std::size_t batch = 15, batches = 6;
  const std::vector<TextDocument> documents = documents_of_words(batch * batches);
  const auto part = [&](std::size_t from, std::size_t to) {
    return std::vector<TextDocument>(documents.begin() + static_cast<std::ptrdiff_t>(from * batch),
                                     documents.begin() + static_cast<std::ptrdiff_t>(to * batch));
  };
  write_words(folder / "index", part(0, 1));
  Config config = small_config();
  config.rescorer.window = 10;
  std::vector<std::vector<std::string>> expected = {{}};
  for (std::size_t i = 1; i <= batches; ++i) expected.push_back(expected_ids(part(0, i), "every w3", 10, 20));
  SearcherManager manager(folder / "index",
                          std::make_shared<const Rescorer>(config, std::make_shared<const ForgetfulScorer>()));
  const SearchSession old(manager.acquire(), "index", QuerySyntax::words);

  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::size_t before = 0;
      for (bool last = false; !last;) {
        last = done;  // then this search must see the last commit
        const SearchSession session(manager.acquire(), "index", QuerySyntax::words);
        const SearchResult result = session.search("every w3", 20, Texts::none);
        const auto commit = static_cast<std::size_t>(result.total_hits) / batch;
        if (commit < before || commit > batches || result.total_hits % batch != 0 ||
            ids_of(result) != expected[commit] || (last && commit != batches)) {
          ++wrong;
          return;
        }
        before = commit;
      }
    });
  }
  for (std::size_t i = 1; i < batches; ++i) {
    write_words(folder / "index", part(i, i + 1), 1000, IndexBuilder::Mode::append);
    EXPECT_TRUE(manager.maybeRefreshBlocking());
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(old.search("every w3", 20, Texts::none).total_hits, static_cast<std::int64_t>(batch))
      << "a session sees the index as it was when it was opened";
}

std::size_t bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(SearchSessionMemory, DoesNotGrowWithTheNumberOfSearchesOrSessions) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  const TemporaryFolder folder;
  write_words(folder / "index", documents_of_words(200), 60);
  Config config = small_config();
  config.rescorer.cache_mb = 1;
  const auto scorer = std::make_shared<ForgetfulScorer>();
  const auto session = session_with(folder / "index", config, {scorer});
  int number = 0;
  const auto search = [&](int times) {
    for (int i = 0; i < times; ++i) {
      // Ever new queries: nothing may be kept for each.
      SearchRequest request;
      request.query = "every w" + std::to_string(i % 15) + " new" + std::to_string(++number);
      request.texts = Texts::whole;
      request.explain = i % 10 == 0;
      session->search(request);
    }
  };
  const auto reopen = [&](int times) {
    for (int i = 0; i < times; ++i) session_with(folder / "index", config, {scorer})->search("every", 10, Texts::whole);
  };
  search(500);
  reopen(5);
  const std::size_t bytes = bytes_in_use(), files = open_files();
  search(2000);
  EXPECT_LT(bytes_in_use(), bytes + 64 * 1024) << "32 bytes per search";
  reopen(40);
  EXPECT_LT(bytes_in_use(), bytes + 64 * 1024) << "a session keeps something open";
  EXPECT_EQ(open_files(), files);
}

}  // namespace
}  // namespace relucent::testing
