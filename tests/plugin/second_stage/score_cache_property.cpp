// The cache of scores: the bits of what was computed, within its memory, and nothing that another query could not use.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "plugin/second_stage/score_cache.h"
#include "relucent/rescore_candidates.h"
#include "relucent/score_cache.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

constexpr std::size_t kScoresPerMegabyte = 14'560;  // of the configuration reference: "about 14,000"

Hash128 hash_of(std::uint64_t number) {
  std::mt19937_64 random(number);
  return {random(), random()};
}

/// Everything that a scorer reports of a candidate.
auto all_of(const CandidateScore& score) {
  return std::tuple(std::bit_cast<std::uint32_t>(score.score), score.tokens, score.truncated, score.query_truncated,
                    score.best.begin, score.best.end, score.best.all, score.unreadable);
}

/// A kind of input that tests hand over themselves.
class GivenKind : public InputKind {
 public:
  explicit GivenKind(std::string name, InputRole role = InputRole::addition) : name_(std::move(name)), role_(role) {}
  std::string_view name() const override { return name_; }
  InputRole role() const override { return role_; }
  std::shared_ptr<const InputSource> open(const std::shared_ptr<const InputIndex>&, const StageConfig&) const override {
    return nullptr;
  }

 private:
  std::string name_;
  InputRole role_;
};

/// Makes all of a score from everything that it may depend on, and counts the candidates that it is given.
class HashScorer : public Scorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }
  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal&) const override {
    scored += static_cast<int>(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::string all = std::string(query) + "\n" + std::string(candidates[i].text);
      for (const float number : EmbeddingKind::read(candidates[i].input(EmbeddingKind::kName).value_or(""))) {
        all += "e" + std::to_string(number);
      }
      if (const auto graph = candidates[i].input("graph")) all += "g" + std::string(*graph);
      const std::size_t hash = std::hash<std::string>{}(all);
      scores[i].score = static_cast<float>(hash % 100'003) / 7.0F + shift;
      scores[i].tokens = static_cast<std::int32_t>(hash >> 20 & 0x1ff);
      scores[i].truncated = (hash >> 30 & 1) != 0;
      scores[i].query_truncated = (hash >> 31 & 1) != 0;
      scores[i].best = {hash >> 32 & 0xff, hash >> 40 & 0xff, (hash >> 48 & 1) != 0};
      scores[i].unreadable = (hash >> 49 & 7) == 0;
    }
    if (trouble) trouble(scores);
    return {{}, fallback};
  }
  InputKinds inputs() const override { return kinds_; }
  bool cacheable() const override { return may_be_kept; }
  std::string describe() const override { return "hash"; }

  bool may_be_kept = true;
  float shift = 0;
  std::string fallback;
  std::function<void(std::span<CandidateScore>)> trouble;
  mutable std::atomic<int> scored = 0;

 private:
  InputKinds kinds_ = {std::make_shared<EmbeddingKind>(EmbeddingShape{}, nullptr), std::make_shared<GivenKind>("graph"),
                       std::make_shared<GivenKind>("shortcut", InputRole::saves_work)};
};

std::vector<CandidateScore> scores_of(const Scorer& scorer, std::string_view query,
                                      const std::vector<Candidate>& candidates) {
  std::vector<CandidateScore> scores(candidates.size());
  scorer.score(query, candidates, scores, {});
  return scores;
}

/// Candidates with these texts, which must be literals.
std::vector<Candidate> texts(const std::vector<std::string_view>& all) {
  std::vector<Candidate> candidates;
  for (const std::string_view text : all) candidates.push_back({"", text});
  return candidates;
}

TEST(ScoreCache, FindsWhatItKept) {
  ScoreCache cache(1 << 16);
  CandidateScore score;
  score.score = 3;
  cache.keep(hash_of(1), score);
  EXPECT_EQ(cache.find(hash_of(1)).value().score, 3.F);
  EXPECT_FALSE(cache.find(hash_of(2)));
  EXPECT_FALSE(cache.find({hash_of(1).first, hash_of(1).second + 1}));  // half of a hash is not enough
  score.score = 4;
  cache.keep(hash_of(1), score);
  EXPECT_EQ(cache.find(hash_of(1)).value().score, 4.F);
  EXPECT_EQ(cache.counts().scores, 1U);
  EXPECT_EQ(cache.counts().hits, 2U);
  EXPECT_EQ(cache.counts().misses, 2U);
}

TEST(ScoreCache, TheLeastRecentlyUsedOfASetMakesRoom) {
  ScoreCache cache(0);  // one set of eight
  for (std::uint64_t i = 0; i < 8; ++i) cache.keep(hash_of(i), {});
  EXPECT_TRUE(cache.find(hash_of(0)));
  cache.keep(hash_of(8), {});
  EXPECT_FALSE(cache.find(hash_of(1)));
  for (const std::uint64_t i : {0, 2, 3, 4, 5, 6, 7, 8}) EXPECT_TRUE(cache.find(hash_of(i))) << i;
  EXPECT_EQ(cache.counts().evicted, 1U);
  EXPECT_EQ(cache.counts().scores, 8U);
}

TEST(ScoreCache, StaysWithinItsMemoryAndFillsIt) {
  constexpr std::size_t bytes = 1 << 20;
  ScoreCache cache(bytes);
  for (std::uint64_t i = 0; i < 8 * kScoresPerMegabyte; ++i) cache.keep(hash_of(i), {});
  const ScoreCacheCounts counts = cache.counts();
  EXPECT_LE(counts.bytes, bytes);
  EXPECT_LE(counts.scores, kScoresPerMegabyte);
  EXPECT_GT(counts.scores, kScoresPerMegabyte * 99 / 100);
  EXPECT_EQ(counts.scores + counts.evicted, 8 * kScoresPerMegabyte);
}

TEST(ScoreCacheProperty, EveryScoreIsTheOneThatWouldHaveBeenComputed) {
  const auto scorer = std::make_shared<HashScorer>(), counted = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(counted, 1);
  std::mt19937 random(11);
  std::vector<std::string> pool;
  for (int i = 0; i < 3000; ++i) pool.push_back("text " + std::to_string(i * 7919));
  const std::vector<float> numbers = {1, 2, 3};
  int asked = 0, from_cache = 0;
  for (int call = 0; call < 4000; ++call) {
    const std::string query = "q" + std::to_string(random() % 12);
    std::vector<Candidate> candidates(random() % 30);
    for (Candidate& candidate : candidates) {
      candidate.text = pool[random() % pool.size()];
      candidate.id = std::to_string(random());  // nothing of the key
      candidate.first_stage_rank = static_cast<std::int32_t>(random() % 100);
      if (random() % 10 == 0) {
        candidate.inputs.push_back(
            {EmbeddingKind::kName, EmbeddingKind::bytes_of(std::span(numbers).first(random() % 3 + 1))});
      }
      if (random() % 10 == 0) candidate.inputs.push_back({"graph", std::string_view("graph").substr(random() % 6)});
    }
    const auto expected = scores_of(*scorer, query, candidates);
    const auto scores = scores_of(*cached, query, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ASSERT_EQ(all_of(scores[i]), all_of(expected[i])) << call << " " << i;
      from_cache += scores[i].cached ? 1 : 0;
    }
    asked += static_cast<int>(candidates.size());
  }
  const ScoreCacheCounts counts = score_cache_counts(*cached).value();
  EXPECT_EQ(counts.hits, static_cast<std::uint64_t>(from_cache));
  EXPECT_EQ(counts.hits + counts.misses, static_cast<std::uint64_t>(asked));
  EXPECT_EQ(counted->scored + from_cache, asked);
  EXPECT_GT(from_cache, asked / 10);
  EXPECT_GT(counts.evicted, 1000U);
  EXPECT_LE(counts.bytes, 1U << 20);
}

// Where candidates see each other, a text has no score of its own.
TEST(ScoreCacheProperty, ScoresOfSetsAreNotKept) {
  const std::filesystem::path folder = golden_path("rerankers/set-encoder");
  RELUCENT_NEEDS(folder);
  SecondStageConfig config;
  config.model = folder.string();
  config.device = Device::cpu();
  const auto scorer = make_scorer(config);
  EXPECT_FALSE(scorer->cacheable());
  EXPECT_EQ(with_score_cache(scorer, 1), scorer);
}

TEST(ScoreCacheProperty, ACrossEncodersScoresHaveTheSameBits) {
  const TemporaryFolder folder;
  TinyCheckpoint().write(folder.path());
  SecondStageConfig config;
  config.model = folder.path().string();
  config.device = Device::cpu();
  config.threads = 1;
  config.long_documents = LongDocuments::maxp;
  config.chunk = config.stride = 20;
  const auto scorer = make_scorer(config);
  EXPECT_TRUE(scorer->cacheable());
  const auto cached = with_score_cache(scorer, 1);
  EXPECT_EQ(cached->inputs(), scorer->inputs());
  EXPECT_EQ(cached->describe(), scorer->describe());
  std::mt19937 random(5);
  std::vector<std::string> pool;
  for (int i = 0; i < 40; ++i) {
    std::string text;
    for (auto words = random() % 60; words > 0; --words) text += static_cast<char>('a' + random() % 26), text += ' ';
    pool.push_back(text + "x");
  }
  for (int call = 0; call < 30; ++call) {
    const std::string query(1 + random() % 3, static_cast<char>('a' + random() % 3));
    std::vector<Candidate> candidates(1 + random() % 12);
    for (Candidate& candidate : candidates) candidate.text = pool[random() % pool.size()];
    const auto expected = scores_of(*scorer, query, candidates);
    const auto scores = scores_of(*cached, query, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ASSERT_EQ(all_of(scores[i]), all_of(expected[i])) << call << " " << i;
      const auto range = scorer->passage(candidates[i], expected[i], {});
      const auto again = cached->passage(candidates[i], scores[i], {});
      ASSERT_TRUE(range && again);
      EXPECT_EQ(std::pair(again->begin, again->end), std::pair(range->begin, range->end));
    }
  }
  EXPECT_GT(score_cache_counts(*cached).value().hits, 20U);
}

TEST(ScoreCache, EveryPartOfTheKeyCounts) {
  const auto scorer = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(scorer, 1);
  const std::vector<float> one = {1}, other = {2};
  Candidate candidate{"", "text"};
  const auto is_known = [&](const std::string& query) { return scores_of(*cached, query, {candidate})[0].cached; };
  EXPECT_FALSE(is_known("query"));
  EXPECT_TRUE(is_known("query"));
  EXPECT_FALSE(is_known("another query"));
  candidate.text = "another text";
  EXPECT_FALSE(is_known("query"));
  candidate.text = "text";
  candidate.inputs = {{EmbeddingKind::kName, EmbeddingKind::bytes_of(one)}};
  EXPECT_FALSE(is_known("query"));
  EXPECT_TRUE(is_known("query"));
  candidate.inputs = {{EmbeddingKind::kName, EmbeddingKind::bytes_of(other)}};
  EXPECT_FALSE(is_known("query"));
  candidate.inputs = {{"graph", ""}};
  EXPECT_FALSE(is_known("query"));
  candidate.inputs = {{"graph", "graph"}};
  EXPECT_FALSE(is_known("query"));
  candidate.inputs = {{"shortcut", "nothing of the key"}};
  candidate.id = "id";
  candidate.first_stage_rank = 7;
  EXPECT_TRUE(is_known("query"));
}

TEST(ScoreCache, ScoresOfAFallbackAreNotKeptAndNotMixedWithOthers) {
  const auto scorer = std::make_shared<HashScorer>(), plain = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(scorer, 1);
  scores_of(*cached, "query", texts({"a", "b"}));
  scorer->fallback = "the GPU is gone";
  scorer->shift = plain->shift = 0.5F;  // other bits
  std::vector<CandidateScore> scores(3);
  const auto candidates = texts({"a", "c", "b"});
  const ScoringStats stats = cached->timed_score("query", candidates, scores, {});
  EXPECT_EQ(stats.fallback, "the GPU is gone");
  const auto expected = scores_of(*plain, "query", candidates);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all_of(scores[i]), all_of(expected[i])) << i;
    EXPECT_FALSE(scores[i].cached);
  }
  EXPECT_EQ(score_cache_counts(*cached).value().scores, 2U);

  // What is known needs no device.
  EXPECT_TRUE(cached->timed_score("query", texts({"b"}), {scores.data(), 1}, {}).fallback.empty());
  scorer->fallback.clear();
  scorer->shift = 0;
  EXPECT_FALSE(scores_of(*cached, "query", texts({"c"}))[0].cached);
}

TEST(ScoreCache, FailuresAndNumbersThatAreNoneAreNotKept) {
  const auto scorer = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(scorer, 1);
  scorer->trouble = [](auto) { throw Error(ErrorKind::device, "gpu", "failed"); };
  expect_error(ErrorKind::device, [&] { scores_of(*cached, "query", texts({"a"})); });
  scorer->trouble = [](auto scores) { scores[0].score = std::numeric_limits<float>::quiet_NaN(); };
  scores_of(*cached, "query", texts({"a", "b"}));
  EXPECT_EQ(score_cache_counts(*cached).value().scores, 1U);
}

TEST(ScoreCache, LooksNothingUpWhenItIsTooLate) {
  const auto scorer = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(scorer, 1);
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now();
  const auto candidates = texts({"a"});
  std::vector<CandidateScore> scores(1);
  expect_error(ErrorKind::deadline, "looking up scores", [&] { cached->score("query", candidates, scores, late); });
  EXPECT_EQ(scorer->scored, 0);
}

TEST(ScoreCache, OnlyWhatMayBeKeptHasOne) {
  const auto scorer = std::make_shared<HashScorer>();
  EXPECT_EQ(with_score_cache(scorer, 0), scorer);
  EXPECT_FALSE(score_cache_counts(*scorer));
  const auto cached = with_score_cache(scorer, 1);
  EXPECT_TRUE(score_cache_counts(*cached));
  EXPECT_EQ(with_score_cache(cached, 2), cached);
  scorer->may_be_kept = false;
  EXPECT_EQ(with_score_cache(scorer, 1), scorer);
}

TEST(ScoreCache, EachStageHasItsOwnAndTheResultCounts) {
  const auto first = std::make_shared<HashScorer>(), second = std::make_shared<HashScorer>();
  SecondStageConfig config;
  config.stages.resize(2);
  config.stages[0].window = 5;
  config.stages[1].window = 3;
  config.stages[1].cache_mb = 1;
  const auto stages = make_stages(config, {first, second});
  EXPECT_FALSE(score_cache_counts(*stages[0].scorer));
  const auto candidates = texts({"a", "b", "c", "d", "e", "f"});
  const auto before = rescore_candidates(config, stages, "query", candidates, {});
  EXPECT_EQ(before.stages[1].cached, 0);
  const auto after = rescore_candidates(config, stages, "query", candidates, {});
  EXPECT_EQ(after.stages[0].cached, 0);
  EXPECT_GT(after.stages[1].cached, 0);
  EXPECT_EQ(after.stages[1].cached, after.stages[1].rescored);
  EXPECT_EQ(first->scored, 10);
  EXPECT_EQ(second->scored, 3);
  ASSERT_EQ(after.order.size(), before.order.size());
  for (std::size_t i = 0; i < after.order.size(); ++i) {
    EXPECT_EQ(after.order[i].index, before.order[i].index);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(after.order[i].score), std::bit_cast<std::uint32_t>(before.order[i].score));
  }
}

TEST(ScoreCacheThreads, SeeOnlyWholeScoresOfTheirOwn) {
  const auto scorer = std::make_shared<HashScorer>();
  const auto cached = with_score_cache(std::make_shared<HashScorer>(), 1);
  std::vector<std::string> pool;
  for (int i = 0; i < 2000; ++i) pool.push_back("text " + std::to_string(i));
  constexpr int count = 6, calls = 400;
  std::latch start(count);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      start.arrive_and_wait();
      for (int call = 0; call < calls; ++call) {
        const std::string query = "q" + std::to_string(random() % 20);
        std::vector<Candidate> candidates(20);
        for (Candidate& candidate : candidates) candidate.text = pool[random() % pool.size()];
        const auto expected = scores_of(*scorer, query, candidates);
        const auto scores = scores_of(*cached, query, candidates);
        for (std::size_t i = 0; i < candidates.size(); ++i) wrong += all_of(scores[i]) == all_of(expected[i]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const ScoreCacheCounts counts = score_cache_counts(*cached).value();
  EXPECT_EQ(counts.hits + counts.misses, std::uint64_t{count} * calls * 20);
  EXPECT_GT(counts.evicted, 0U);
}

}  // namespace
}  // namespace relucent::testing
