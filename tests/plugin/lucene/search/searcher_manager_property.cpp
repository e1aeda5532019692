// A searcher that stays current: refreshes during searches, shared and released parts, and failures.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <filesystem>
#include <latch>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "plugin/lucene/search/reader_cache.h"
#include "relucent/score_cache.h"
#include "relucent/searcher_manager.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

/// How many of this process's open files are in the folder.
int open_files_in(const fs::path& folder) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    if (fs::read_symlink(entry.path(), ignored).string().starts_with(folder.string() + "/")) ++count;
  }
  return count;
}

/// A score for every text, and a count of the calls.
class TextScorer : public Scorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal&) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t hash = std::hash<std::string>{}(std::string(query) + std::string(candidates[i].text));
      scores[i].score = static_cast<float>(hash % 10'007) / 10.0F;
    }
  }
  std::string describe() const override { return "texts"; }
};

std::string bits_of(const Lucene::TopDocsPtr& answer) {
  std::string bits = std::to_string(answer->totalHits);
  for (const auto& hit : answer->scoreDocs) {
    bits += ";" + std::to_string(hit->doc) + "," + std::to_string(std::bit_cast<std::uint64_t>(hit->score));
  }
  return bits;
}

class SearcherManagerTest : public ::testing::Test {
 protected:
  SearcherManagerTest() {
    config.log.level = LogLevel::off;
    config.rescorer.window = 50;
    write_own(index(), some_documents(30), 10);
  }

  fs::path index() const { return folder / "index"; }

  /// As another process would: adds documents and commits.
  void append(int count) {
    const auto builder = open_builder(index(), IndexBuilder::Mode::append);
    for (const TestDocument& document : some_documents(count)) builder->add(document.id + "+", document.text);
    builder->close();
  }

  std::unique_ptr<SearcherManager> manager() {
    return std::make_unique<SearcherManager>(index(),
                                             std::make_shared<const Rescorer>(config, std::make_shared<TextScorer>()));
  }

  /// With a model in the folder `model`.
  void use_model() {
    TinyCheckpoint().write(folder / "model");
    config.rescorer.model = (folder / "model").string();
    config.rescorer.device = Device::cpu();
    config.rescorer.threads = 1;
  }

  Lucene::TopDocsPtr search(const ManagedSearcher& searcher, const std::string& words = "common number3") const {
    return searcher.searcher->search(makeTextQuery(words, config), 200);
  }

  TemporaryFolder folder;
  Config config;
};

TEST_F(SearcherManagerTest, ServesTheNewCommitAndKeepsTheModel) {
  const auto managed = manager();
  const ManagedSearcher before = managed->acquire();
  EXPECT_EQ(before.number, 1U);
  EXPECT_FALSE(managed->maybeRefresh());
  EXPECT_EQ(managed->acquire().searcher, before.searcher);

  append(12);
  EXPECT_EQ(managed->acquire().searcher, before.searcher);
  EXPECT_TRUE(managed->maybeRefresh());
  EXPECT_FALSE(managed->maybeRefresh());
  const ManagedSearcher after = managed->acquire();
  EXPECT_EQ(after.number, 2U);
  EXPECT_NE(after.commit, before.commit);
  EXPECT_EQ(after.rescorer, before.rescorer);
  EXPECT_EQ(after.config, before.config);
  EXPECT_EQ(search(after)->totalHits, 42);
  EXPECT_EQ(search(before)->totalHits, 30);  // under way
  EXPECT_EQ(bits_of(search(after)), bits_of(search(manager()->acquire())));
}

TEST_F(SearcherManagerTest, TakesOverUnchangedSegments) {
  const auto managed = manager();
  const ManagedSearcher before = managed->acquire();
  append(5);
  ASSERT_TRUE(managed->maybeRefreshBlocking());
  const ManagedSearcher after = managed->acquire();
  const auto old = before.searcher->getIndexReader()->getSequentialSubReaders();
  const auto now = after.searcher->getIndexReader()->getSequentialSubReaders();
  ASSERT_EQ(old.size(), 3);
  ASSERT_EQ(now.size(), 4);
  for (std::int32_t i = 0; i < 3; ++i) EXPECT_EQ(now[i], old[i]);
}

TEST_F(SearcherManagerTest, TakesNothingOverFromAnIndexOfTheSameNames) {
  const auto managed = manager();
  const ManagedSearcher before = managed->acquire();
  fs::remove_all(index());
  auto others = some_documents(30);
  for (TestDocument& document : others) document.text = "other things";
  write_own(index(), others, 10);
  EXPECT_TRUE(managed->maybeRefresh());
  EXPECT_EQ(search(managed->acquire(), "common")->totalHits, 0);
  EXPECT_EQ(search(managed->acquire(), "things")->totalHits, 30);
  EXPECT_EQ(search(before, "common")->totalHits, 30);  // its files are open
}

TEST_F(SearcherManagerTest, FollowsDeletionsInAnotherProgramsIndex) {
  fs::remove_all(index());
  write_stock(index(), some_documents(30), 10);
  const auto managed = manager();
  const auto writer = stock_writer(index(), false);
  writer->deleteDocuments(newLucene<Lucene::Term>(L"id", L"d3"));
  writer->commit();
  EXPECT_TRUE(managed->maybeRefresh());
  add_stock(writer, {"new", "common words"});
  writer->close();
  EXPECT_TRUE(managed->maybeRefresh());
  EXPECT_EQ(search(managed->acquire(), "common")->totalHits, 30);
  EXPECT_EQ(managed->acquire().searcher->getIndexReader()->numDocs(), 30);
}

TEST_F(SearcherManagerTest, OldReadersAreClosed) {
  const auto managed = manager();
  for (int i = 0; i < 8; ++i) {
    append(3);
    ASSERT_TRUE(managed->maybeRefresh());
    search(managed->acquire());
  }
  const int open = open_files_in(index());
  EXPECT_GT(open, 0);
  const auto fresh = manager();
  search(fresh->acquire());
  EXPECT_EQ(open_files_in(index()), 2 * open);
}

TEST_F(SearcherManagerTest, AFailedRefreshKeepsTheSearcherAndStatesWhy) {
  const auto managed = manager();
  const ManagedSearcher before = managed->acquire();
  const std::string expected = bits_of(search(before));
  write_file(index() / "segments_zz", "not a list of segments");
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(ErrorKind::invalid_data, {"segments_zz", "damaged", "stays at " + before.commit},
                 [&] { managed->maybeRefresh(); });
  }
  EXPECT_EQ(managed->acquire().searcher, before.searcher);
  // A writer at work may still finish it; one that was killed long ago also leaves its lock.
  write_file(index() / "write.lock", "");
  EXPECT_FALSE(managed->maybeRefresh());
  fs::last_write_time(index() / "segments_zz", fs::file_time_type::clock::now() - std::chrono::minutes(5));
  expect_error(ErrorKind::invalid_data, "never finished", [&] { managed->maybeRefresh(); });
  fs::remove(index() / "write.lock");
  fs::remove(index() / "segments_zz");
  EXPECT_FALSE(managed->maybeRefresh());

  append(4);
  const fs::path hidden = folder / "hidden";
  fs::rename(index(), hidden);
  expect_error(ErrorKind::io, "does not exist", [&] { managed->maybeRefresh(); });
  EXPECT_EQ(bits_of(search(managed->acquire())), expected);
  fs::rename(hidden, index());
  EXPECT_TRUE(managed->maybeRefresh());
  EXPECT_EQ(search(managed->acquire())->totalHits, 34);
}

TEST_F(SearcherManagerTest, ReloadTakesOtherSettingsAndKeepsAModelThatStaysTheSame) {
  use_model();
  SearcherManager managed(index(), config);
  const ManagedSearcher before = managed.acquire();
  const auto scorer_of = [](const ManagedSearcher& searcher) { return searcher.rescorer->stages().at(0).scorer; };
  config.rescorer.window = 7;
  managed.reload(config);
  const ManagedSearcher after = managed.acquire();
  EXPECT_EQ(after.config->rescorer.window, 7);
  EXPECT_EQ(scorer_of(after), scorer_of(before));
  EXPECT_EQ(rescored(search(after))->rescored, 7);
  EXPECT_EQ(rescored(search(before))->rescored, 30);

  config.rescorer.max_length = 40;
  managed.reload(config);
  EXPECT_NE(scorer_of(managed.acquire()), scorer_of(before));

  const auto loaded = scorer_of(managed.acquire());
  managed.reload(config);
  EXPECT_EQ(scorer_of(managed.acquire()), loaded);
  TinyCheckpoint(2).write(folder / "other");
  fs::rename(folder / "other" / "model.safetensors", folder / "model" / "model.safetensors");
  managed.reload(config);
  EXPECT_NE(scorer_of(managed.acquire()), loaded);

  config.rescorer.enabled = false;
  managed.reload(config);
  EXPECT_EQ(managed.acquire().rescorer, nullptr);
  EXPECT_FALSE(boost::dynamic_pointer_cast<RescoredTopDocs>(search(managed.acquire())));
  append(1);
  EXPECT_TRUE(managed.maybeRefresh());
  EXPECT_EQ(search(managed.acquire())->totalHits, 31);
}

TEST_F(SearcherManagerTest, AFailedReloadKeepsTheSearcher) {
  use_model();
  SearcherManager managed(index(), config);
  const ManagedSearcher before = managed.acquire();
  Config wrong = config;
  wrong.rescorer.model = (folder / "nowhere").string();
  expect_error(ErrorKind::io, "nowhere", [&] { managed.reload(wrong); });
  wrong = config;
  wrong.index.text_field = "body";
  expect_error(ErrorKind::usage, "body", [&] { managed.reload(wrong); });
  wrong = config;
  wrong.rescorer.window = 0;
  expect_error(ErrorKind::usage, "window", [&] { managed.reload(wrong); });
  EXPECT_EQ(managed.acquire().searcher, before.searcher);
  append(2);
  EXPECT_TRUE(managed.maybeRefresh());
  EXPECT_EQ(managed.acquire().rescorer, before.rescorer);
}

TEST_F(SearcherManagerTest, TheCacheOfScoresOutlivesRefreshesAndReloads) {
  use_model();
  config.rescorer.cache_mb = 1;
  SearcherManager managed(index(), config);
  EXPECT_EQ(rescored(search(managed.acquire()))->cached, 0);
  const auto again = rescored(search(managed.acquire()));
  EXPECT_EQ(again->cached, 30);
  EXPECT_EQ(again->stages.at(0).cached, 30);
  EXPECT_TRUE(rescored_hit(again, 0)->cached);
  append(5);
  ASSERT_TRUE(managed.maybeRefresh());
  // Texts repeat every seven documents, so the new ones are also known.
  EXPECT_EQ(rescored(search(managed.acquire()))->cached, 35);
  config.rescorer.window = 6;
  managed.reload(config);
  const auto fewer = rescored(search(managed.acquire()));
  EXPECT_EQ(fewer->cached, 6);
  const auto explained =
      to_utf8(managed.acquire()
                  .searcher->explain(makeTextQuery("common number3", config), fewer->scoreDocs[0]->doc)
                  ->toString());
  EXPECT_NE(explained.find("from the cache of scores"), std::string::npos) << explained;

  config.rescorer.cache_mb = 0;
  managed.reload(config);
  const auto without = rescored(search(managed.acquire()));
  EXPECT_EQ(without->cached, 0);
  EXPECT_EQ(bits_of(without), bits_of(fewer));
}

TEST_F(SearcherManagerTest, ThreadsSearchWhileAWriterCommits) {
  const auto managed = manager();
  std::mutex mutex;
  std::map<std::string, std::string> answers;  // by commit
  std::atomic<int> searches = 0, different = 0, lost = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::int32_t seen = 0;
      while (!done) {
        const ManagedSearcher mine = managed->acquire();
        const Lucene::TopDocsPtr found = search(mine);
        // Every document matches, and no later searcher has fewer.
        if (found->totalHits != mine.searcher->maxDoc() || found->totalHits < seen) ++lost;
        if (rescored(found)->status != RescoreStatus::rescored) ++lost;
        seen = found->totalHits;
        ++searches;
        const std::lock_guard lock(mutex);
        if (answers.try_emplace(mine.commit, bits_of(found)).first->second != bits_of(found)) ++different;
      }
    });
  }
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        try {
          managed->maybeRefresh();
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  for (int i = 0; i < 10; ++i) append(4);
  managed->maybeRefreshBlocking();
  EXPECT_EQ(managed->acquire().searcher->maxDoc(), 70);
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_GT(searches, 10);
  const int open = open_files_in(index());
  const auto fresh = manager();
  EXPECT_EQ(bits_of(search(fresh->acquire())), bits_of(search(managed->acquire())));
  EXPECT_EQ(open_files_in(index()), 2 * open);
}

class ReaderCacheTest : public ::testing::Test {
 protected:
  using Cache = ReaderCache<int>;
  static std::shared_ptr<const int> number(int value) { return std::make_shared<const int>(value); }

  SmallIndex index{{{"a", "text", "word"}}};
  Lucene::IndexReaderPtr one = index.reader(), two = index.reader();
  Cache cache;
  int opened = 0;

  int get(const Lucene::IndexReaderPtr& reader, std::size_t stage = 0, const StopSignal& stop = {}) {
    return *cache.of(reader, stage, stop, [&] { return number(++opened); });
  }
};

TEST_F(ReaderCacheTest, OpensOncePerReaderAndStage) {
  EXPECT_EQ(get(one), 1);
  EXPECT_EQ(get(one), 1);
  EXPECT_EQ(get(two), 2);
  EXPECT_EQ(get(one, 1), 3);
  EXPECT_EQ(get(one), 1);
  cache.forget(one, 1);
  EXPECT_EQ(get(one, 1), 4);
  cache.forget(one);
  EXPECT_EQ(get(one), 5);
  EXPECT_EQ(get(two), 2);
}

TEST_F(ReaderCacheTest, LetsGoOfWhatIsForgottenAndOfReadersThatAreGone) {
  const std::weak_ptr<const int> of_one = cache.of(one, 0, {}, [] { return number(1); });
  const std::weak_ptr<const int> of_two = cache.of(two, 0, {}, [] { return number(2); });
  EXPECT_FALSE(of_one.expired());
  cache.forget(one);
  EXPECT_TRUE(of_one.expired());
  two.reset();
  get(one);
  EXPECT_TRUE(of_two.expired());
}

TEST_F(ReaderCacheTest, OpeningsOfTwoReadersDoNotWaitForEachOther) {
  std::latch both(2);
  const auto wait_for_the_other = [&] {
    both.arrive_and_wait();
    return number(1);
  };
  std::thread other([&] { cache.of(two, 0, {}, wait_for_the_other); });
  cache.of(one, 0, {}, wait_for_the_other);
  other.join();
}

TEST_F(ReaderCacheTest, WhoWaitsLooksAtTheDeadlineAndAtTheStop) {
  std::latch begun(1), end(1);
  std::thread opener([&] {
    cache.of(one, 0, {}, [&] {
      begun.count_down();
      end.wait();
      return number(7);
    });
  });
  begun.wait();
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  expect_error(ErrorKind::deadline, "opened", [&] { get(one, 0, late); });
  std::stop_source source;
  StopSignal stopped;
  stopped.stop = source.get_token();
  std::thread stopper([&] { source.request_stop(); });
  expect_error(ErrorKind::interrupted, "opened", [&] { get(one, 0, stopped); });
  stopper.join();
  std::thread ender([&] { end.count_down(); });
  EXPECT_EQ(get(one), 7);
  EXPECT_EQ(opened, 0);
  ender.join();
  opener.join();
}

TEST_F(ReaderCacheTest, AfterAFailureTheNextOneTries) {
  const auto fail = [&]() -> std::shared_ptr<const int> { throw Error(ErrorKind::io, "file", "is missing"); };
  expect_error(ErrorKind::io, [&] { cache.of(one, 0, {}, fail); });
  EXPECT_EQ(get(one), 1);
}

TEST_F(ReaderCacheTest, ManyThreadsOpenFailForgetAndRead) {
  std::atomic<int> at_once = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto& reader = (t + i) % 2 == 0 ? one : two;
        std::atomic<int>* const mine = &reader == &one ? &at_once : nullptr;
        try {
          const auto value = cache.of(reader, 0, {}, [&] {
            if (mine != nullptr && ++*mine != 1) ++wrong;
            if (mine != nullptr) --*mine;
            if (i % 5 == 0) throw Error(ErrorKind::io, "file", "is missing");
            return number(&reader == &one ? 1 : 2);
          });
          if (*value != (&reader == &one ? 1 : 2)) ++wrong;
        } catch (const Error&) {
        }
        if (i % 7 == 0) cache.forget(reader);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace relucent::testing
