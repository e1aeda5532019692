// The cache of results: what it keeps through kills, cuts and damage, and what its keys depend on.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <set>

#include "base/checksum.h"
#include "index_tools/experiments/content_hash.h"
#include "index_tools/experiments/topic_result.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::index_tools {
namespace {

using testing::bytes_of;
using testing::expect_error;
using testing::TemporaryFolder;

TopicResult result_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  TopicResult result;
  for (std::size_t i = 0; i < 1 + seed % 5; ++i) {
    const float score = i == 0 ? std::numeric_limits<float>::denorm_min() : static_cast<float>(random()) / -1e5F;
    result.order.push_back({random() % 100, score});
  }
  result.truncated = seed;
  result.without_text = 2 * seed;
  result.milliseconds = 0.1 * seed;
  return result;
}

std::string key_of(std::uint32_t topic) { return to_hex(topic); }

TEST(ResultCache, ALineReadsBackToTheSameResult) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(TopicResult::from_line(result_of(seed).to_line()), result_of(seed)) << seed;
  }
  for (const char* line : {"", "1.5 2", "1.5 2 3 4", "1.5 2 3 4 x", "1.5 -2 3", "1.5 2 3 4 0.5 5"}) {
    EXPECT_THROW(TopicResult::from_line(line), Error) << line;
  }
}

TEST(ResultCache, KeepsWhatWasAddedAndAddsToIt) {
  const TemporaryFolder folder;
  for (std::uint32_t topic = 0; topic < 5; ++topic) {
    ResultCache cache(folder / "new/cache", "settings\nof a row");
    for (std::uint32_t earlier = 0; earlier < topic; ++earlier) {
      ASSERT_TRUE(cache.find(key_of(earlier))) << topic << " " << earlier;
      EXPECT_EQ(*cache.find(key_of(earlier)), result_of(earlier));
    }
    EXPECT_FALSE(cache.find(key_of(topic)));
    cache.add(key_of(topic), result_of(topic));
    EXPECT_EQ(*cache.find(key_of(topic)), result_of(topic));
  }
  EXPECT_FALSE(ResultCache(folder / "new/cache", "other settings").find(key_of(0)));
}

// Wherever a kill or a power cut leaves the file's end, whole lines count, and the next results follow them.
TEST(ResultCache, AFileCutAnywhereIsAsGoodAsItsWholeLines) {
  const TemporaryFolder folder;
  std::filesystem::path file;
  {
    ResultCache cache(folder.path(), "settings");
    for (std::uint32_t topic = 0; topic < 3; ++topic) cache.add(key_of(topic), result_of(topic));
    file = cache.file();
  }
  const std::string whole = bytes_of(file);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder.write(file.filename().string(), whole.substr(0, size));
    {
      ResultCache cache(folder.path(), "settings");
      std::size_t found = 0;
      for (std::uint32_t topic = 0; topic < 3; ++topic) {
        const auto result = cache.find(key_of(topic));
        if (!result) continue;
        ++found;
        EXPECT_EQ(*result, result_of(topic)) << size;
      }
      EXPECT_EQ(found == 3, size == whole.size()) << size;
      cache.add(key_of(7), result_of(7));
    }
    const ResultCache again(folder.path(), "settings");
    ASSERT_TRUE(again.find(key_of(7))) << size;
    EXPECT_EQ(*again.find(key_of(7)), result_of(7)) << size;
  }
}

TEST(ResultCache, AChangedByteLosesResultsButNeverChangesOne) {
  const TemporaryFolder folder;
  std::filesystem::path file;
  {
    ResultCache cache(folder.path(), "settings");
    for (std::uint32_t topic = 0; topic < 3; ++topic) cache.add(key_of(topic), result_of(topic));
    file = cache.file();
  }
  const std::string whole = bytes_of(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    folder.write(file.filename().string(), changed);
    const ResultCache cache(folder.path(), "settings");
    for (std::uint32_t topic = 0; topic < 3; ++topic) {
      const auto result = cache.find(key_of(topic));
      if (!result) continue;
      EXPECT_EQ(*result, result_of(topic)) << at;
    }
  }
}

TEST(ResultCache, OneProcessAtATimeAddsToAFile) {
  const TemporaryFolder folder;
  const ResultCache first(folder.path(), "settings");
  expect_error(ErrorKind::io, {first.file().string(), "--cache"}, [&] { ResultCache(folder.path(), "settings"); });
  EXPECT_NO_THROW(ResultCache(folder.path(), "other settings"));
}

TEST(ContentHash, EverythingThatAScorerReadsOfATopicCounts) {
  const RerankQuery query{"1", "a query", {{"d1", "one text", 2.5, 1, ""}, {"d2", "another", 2.25, 2, ""}}};
  std::set<std::uint64_t> hashes = {hash_of_topic(query)};
  const std::function<void(RerankQuery&)> changes[] = {
      [](RerankQuery& q) { q.text += " "; },
      [](RerankQuery& q) { q.candidates[0].docno = "d3"; },
      [](RerankQuery& q) { q.candidates[1].text = ""; },
      [](RerankQuery& q) { q.candidates[1].score = -2.25; },
      [](RerankQuery& q) { std::swap(q.candidates[0], q.candidates[1]); },
      [](RerankQuery& q) { q.candidates.pop_back(); },
      [](RerankQuery& q) { q.candidates[0].docno = "d1o", q.candidates[0].text = "ne text"; },
  };
  for (const auto& change : changes) {
    RerankQuery changed = query;
    change(changed);
    EXPECT_TRUE(hashes.insert(hash_of_topic(changed)).second);
  }
  RerankQuery same = query;
  same.id = "2";
  EXPECT_EQ(hash_of_topic(same), hash_of_topic(query));
}

TEST(ContentHash, AModelsFilesCountAndNotItsPlace) {
  const TemporaryFolder folder;
  folder.write("a/config.json", "{}");
  folder.write("a/model.safetensors", "weights");
  folder.write("b/config.json", "{}");
  folder.write("b/model.safetensors", "weights");
  folder.write("b/README.md", "about");
  EXPECT_EQ(hash_of_model(folder / "a"), hash_of_model(folder / "b"));
  folder.write("b/model.safetensors", "weighty");
  EXPECT_NE(hash_of_model(folder / "a"), hash_of_model(folder / "b"));
  expect_error(ErrorKind::io, {"none"}, [&] { hash_of_model(folder / "none"); });
}

TEST(ContentHash, SettingsThatChangeScoresCountAndOthersDoNot) {
  const TemporaryFolder folder;
  folder.write("model/config.json", "{}");
  SecondStageConfig config;
  config.model = (folder / "model").string();
  config.device = Device::cpu();
  const std::string description = description_of_scoring(config);
  const std::function<void(SecondStageConfig&)> changes[] = {
      [](SecondStageConfig& c) { c.attention_window = 0; },
      [](SecondStageConfig& c) { c.pattern = PatternChoice::sparse; },
      [](SecondStageConfig& c) { c.max_length = 64; },
      [](SecondStageConfig& c) { c.precision = Precision::fp32; },
      [](SecondStageConfig& c) { c.long_documents = LongDocuments::maxp; },
      [](SecondStageConfig& c) { c.keep_chunks = KeepChunks::first; },
      [](SecondStageConfig& c) { c.chunk = 100; },
      [](SecondStageConfig& c) { c.query_weight = 0.2; },
      [](SecondStageConfig& c) { c.window = 10; },
  };
  std::set<std::string> all = {description};
  for (const auto& change : changes) {
    SecondStageConfig changed = config;
    change(changed);
    EXPECT_TRUE(all.insert(description_of_scoring(changed)).second);
  }
  config.threads = 3;
  config.timeout = std::chrono::milliseconds(5);
  EXPECT_EQ(description_of_scoring(config), description);
  folder.write("model/config.json", "{ }");
  EXPECT_NE(description_of_scoring(config), description);
}

}  // namespace
}  // namespace relucent::index_tools
