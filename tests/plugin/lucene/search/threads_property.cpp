#include <gtest/gtest.h>

#include <bit>
#include <latch>

#include "plugin/second_stage/loaded_encoder.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/rescore_query.h"
#include "relucent/text_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

// A score that any mix-up of texts, queries or candidates would change.
class HashScorer : public Scorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal&) const override {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t hash = std::hash<std::string>{}(std::string(query) + "\n" + std::string(candidates[i].text));
      scores[i].score = static_cast<float>(hash % 1000003) / 1000.0F;
    }
  }
  std::string describe() const override { return "hash"; }
};

std::vector<StoredDocument> many_documents() {
  std::vector<StoredDocument> documents;
  unsigned state = 7;
  for (int i = 0; i < 400; ++i) {
    std::string words;
    for (int w = 0; w < 30; ++w) {
      state = state * 1664525U + 1013904223U;
      words += " w" + std::to_string((state >> 16) % 60);
    }
    documents.push_back({std::to_string(i), i % 17 == 0 ? std::nullopt : std::optional(words), words});
  }
  return documents;
}

// Everything about an answer that must not depend on the thread.
std::string bits_of(const RescoredTopDocsPtr& answer) {
  std::string bits =
      answer->queryText + "|" + std::to_string(answer->totalHits) + (answer->degraded ? "|degraded" : "");
  for (const auto& entry : answer->scoreDocs) {
    const auto hit = boost::dynamic_pointer_cast<RescoredHit>(entry);
    bits += ";" + std::to_string(hit->doc) + "," + std::to_string(std::bit_cast<std::uint64_t>(hit->score)) + "," +
            std::to_string(hit->first_stage_rank) + "," +
            std::to_string(std::bit_cast<std::uint64_t>(hit->first_stage_score)) + "," +
            std::to_string(std::bit_cast<std::uint32_t>(hit->logit.value_or(-1.F)));
  }
  return bits;
}

std::vector<std::string> search_all(const Lucene::IndexSearcherPtr& searcher, const Config& config, unsigned offset) {
  std::vector<std::string> answers(40);
  for (unsigned i = 0; i < answers.size(); ++i) {
    const unsigned which = (i + offset) % static_cast<unsigned>(answers.size());
    const std::string text = "w" + std::to_string(which) + " w" + std::to_string((which * 7) % 60);
    if (which % 2 == 0) {
      answers[which] = bits_of(rescored(searcher->search(makeTextQuery(text, config), 120)));
    } else {
      const QueryTextScope scope(text + " by scope");
      answers[which] = bits_of(rescored(searcher->search(makeTextQuery(text, config)->inner(), 120)));
    }
  }
  return answers;
}

/// An encoder that is there, or not: nothing else matters to who loads it.
class NoEncoder : public CrossEncoder {
 public:
  PairScores score_documents(std::string_view, std::span<const PairDocument>, const StopSignal&) const override {
    return {};
  }
  std::vector<float> classify(std::string_view, std::span<const std::string_view>, const StopSignal&) const override {
    return {};
  }
  TextRange place_of(std::string_view, const PieceRange&, const StopSignal&) const override { return {}; }
  const Tokenizer& tokenizer() const noexcept override { std::abort(); }
  const BackendInfo& backend() const noexcept override { std::abort(); }
  const EncoderDescription& description() const noexcept override { std::abort(); }
  const std::filesystem::path& checkpoint() const noexcept override { std::abort(); }
  std::int32_t max_length() const noexcept override { return 0; }
};

TEST(LoadedEncoderThreads, BeginWaitAndForgetAtOnce) {
  std::atomic<int> loads = 0, at_once = 0;
  LoadedEncoder<CrossEncoder> encoder([&]() -> std::shared_ptr<const CrossEncoder> {
    EXPECT_EQ(++at_once, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_once;
    if (++loads % 3 == 0) throw Error(ErrorKind::device, "cuda:0", "is not there");
    return std::make_shared<NoEncoder>();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        encoder.begin();
        StopSignal stop;
        if (t % 2 == 0) stop.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
        try {
          const auto loaded = encoder.wait(stop);
          if (t % 4 == 1) encoder.forget(loaded);
        } catch (const Error& error) {
          EXPECT_TRUE(error.kind() == ErrorKind::deadline || error.kind() == ErrorKind::device) << error.what();
        }
        encoder.get();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(loads, 3);
}

TEST(LoadedEncoderThreads, ItsEndWaitsForALoadUnderWay) {
  std::atomic<bool> ended = false;
  {
    LoadedEncoder<CrossEncoder> encoder([&]() -> std::shared_ptr<const CrossEncoder> {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ended = true;
      return nullptr;
    });
    EXPECT_TRUE(encoder.begin());
    EXPECT_FALSE(encoder.begin());
  }
  EXPECT_TRUE(ended);
}

TEST(RescoringThreads, EightThreadsGiveTheBitsOfOne) {
  const SmallIndex index(many_documents());
  Config config = small_config();
  config.rescorer.window = 50;
  config.rescorer.score_mode = ScoreMode::total;
  config.rescorer.normalize = Normalize::minmax;
  config.rescorer.query_weight = 0.3;
  const auto searcher = rescoring_searcher(index, config, std::make_shared<HashScorer>());
  const auto expected = search_all(searcher, config, 0);

  constexpr unsigned count = 8;
  std::vector<std::vector<std::string>> answers(count);
  std::latch start(count);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      answers[t] = search_all(searcher, config, t * 5);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& answer : answers) EXPECT_EQ(answer, expected);
}

TEST(RescoringThreads, ANewSearcherGivesTheSameBits) {
  const SmallIndex index(many_documents());
  const Config config = small_config();
  const auto expected = search_all(rescoring_searcher(index, config, std::make_shared<HashScorer>()), config, 0);
  EXPECT_EQ(search_all(rescoring_searcher(index, config, std::make_shared<HashScorer>()), config, 11), expected);
}

}  // namespace
}  // namespace relucent
