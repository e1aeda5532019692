// Searches with a Set-Encoder, whose scores depend on which other candidates there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;
using Logits = std::map<std::string, float>;

class SearchSessionSets : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Config config = small_config();
  std::vector<TextDocument> documents;

  void SetUp() override {
    RELUCENT_NEEDS(golden_path("rerankers/set-encoder"));
    std::mt19937 random(3);
    for (int i = 0; i < 110; ++i) {
      std::string text = "river";
      for (auto words = 1 + random() % 12; words > 0; --words) {
        text += std::string(" ") + static_cast<char>('a' + random() % 26) + static_cast<char>('a' + random() % 26);
      }
      documents.push_back({"d" + std::to_string(i), text});
    }
    config.rescorer.model = golden_path("rerankers/set-encoder").string();
    config.rescorer.device = Device::cpu();
    config.rescorer.precision = Precision::fp32;
    config.rescorer.window = 12;
  }

  /// A session over an index of so many documents from `first` on.
  std::unique_ptr<SearchSession> session(std::size_t first, std::size_t count) const {
    const auto begin = documents.begin() + static_cast<std::ptrdiff_t>(first);
    const auto index = folder / ("index" + std::to_string(first) + "-" + std::to_string(count));
    write_words(index, {begin, begin + static_cast<std::ptrdiff_t>(count)}, 9);
    return session_with(index, config, {});
  }
  static Logits logits_of(const SearchResult& result) {
    Logits logits;
    for (const SearchHit& hit : result.hits) {
      if (hit.logit) logits[hit.id] = *hit.logit;
    }
    return logits;
  }
  /// The model's own scores of these documents as one set.
  Logits set_of(const std::string& query, const Logits& found) const {
    std::vector<std::string_view> texts;
    for (const auto& [id, logit] : found) texts.push_back(documents[std::stoul(id.substr(1))].text);
    CrossEncoderOptions options;
    options.backend = {Device::cpu(), Precision::fp32, 1, ""};
    const auto scores = CrossEncoder::load(config.rescorer.model, options)->score(query, texts);
    Logits logits;
    std::size_t next = 0;
    for (const auto& [id, logit] : found) logits[id] = scores.documents.at(next++).logit;
    return logits;
  }
};

TEST_F(SearchSessionSets, ScoreTheWholeWindowAsOneSetWhateverElseRuns) {
  const auto open = session(0, 40);
  std::map<std::string, Logits> alone;
  for (const std::string query : {"river", "river ab", "cd river", "river ef gh"}) {
    const SearchResult result = open->search(query, 40, Texts::none);
    EXPECT_EQ(status_of(result), "rescored") << result.reason;
    alone[query] = logits_of(result);
    ASSERT_EQ(alone[query].size(), 12U);
    EXPECT_EQ(alone[query], set_of(query, alone[query])) << query;
    for (const SearchHit& hit : result.hits) {
      if (!hit.logit) continue;
      EXPECT_EQ(open->explain(query, hit.document).value, hit.score) << hit.id;
    }
  }
  std::vector<std::jthread> threads;
  for (const auto& one : alone) {
    threads.emplace_back([&open, &one] {
      for (int i = 0; i < 8; ++i) EXPECT_EQ(logits_of(open->search(one.first, 40, Texts::none)), one.second);
    });
  }
}

TEST_F(SearchSessionSets, OfPartsOfAnIndexAreSetsOfTheirOwn) {
  const Logits whole = logits_of(session(0, 24)->search("river", 24, Texts::none));
  for (const std::size_t first : {0, 12}) {
    const Logits part = logits_of(session(first, 12)->search("river", 24, Texts::none));
    ASSERT_EQ(part.size(), 12U);
    EXPECT_EQ(part, set_of("river", part));
    for (const auto& [id, logit] : part) EXPECT_TRUE(!whole.contains(id) || whole.at(id) != logit) << id;
  }
}

TEST_F(SearchSessionSets, AMissedDeadlineScoresNoCandidate) {
  config.rescorer.timeout = std::chrono::milliseconds(1);
  config.rescorer.window = 100;
  const auto open = session(0, 110);
  const SearchResult first_stage = bm25_session(folder / "index0-110", config)->search("river", 110, Texts::none);
  // A machine may be fast enough now and then, but never for a part of a set.
  std::size_t missed = 0;
  for (int i = 0; i < 20; ++i) {
    const SearchResult result = open->search("river", 110, Texts::none);
    const std::size_t scored = logits_of(result).size();
    EXPECT_TRUE(scored == 0 || scored == 100U) << scored;
    if (scored > 0) continue;
    expect_first_stage_order(result, first_stage);
    ++missed;
  }
  EXPECT_GT(missed, 0U);
}

TEST_F(SearchSessionSets, AreAtMostAsLargeAsTheCheckpointSays) {
  config.rescorer.window = 101;
  config.rescorer.on_error = OnError::fail;
  expect_error(ErrorKind::usage, {"at most 100 candidates", "window = 100"},
               [&] { session(0, 110)->search("river", 110, Texts::none); });
}

}  // namespace
}  // namespace relucent::testing
