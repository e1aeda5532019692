// A MixEncoder as [rescorer] model: the same second stage, with texts encoded on the fly.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "relucent/model/checkpoint.h"
#include "relucent/model/mix_encoder.h"
#include "relucent/rescore_candidates.h"
#include "tests/support/cuda_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

class MixEncoderAsRescorer : public ::testing::Test {
 protected:
  MixEncoderAsRescorer() {
    TinyCheckpoint().write(temporary_ / "bert");
    init_mix_encoder(temporary_ / "bert", temporary_ / "mix",
                     {.interaction_layers = {0, 1}, .query_max_length = 12, .candidate_max_length = 20});
    config.model = (temporary_ / "mix").string();
    config.device = Device::cpu();
    config.threads = 2;
    config.precision = Precision::fp32;
  }

  static std::vector<Candidate> candidates() {
    return {{"1", "a b c", 3, 1}, {"2", "", 2, 2}, {"3", kLong, 1, 3}, {"4", "x y", 0.5, 4}};
  }

  static constexpr const char* kLong = "a b c d e f g h i j k l m n o p q r s t u";
  SecondStageConfig config;

 private:
  TemporaryFolder temporary_;
};

TEST_F(MixEncoderAsRescorer, OrdersByTheModelsScores) {
  const auto scorer = make_scorer(config);
  const RescoredCandidates rescored = rescore_candidates(*scorer, "b x", candidates(), config, {});
  ASSERT_EQ(rescored.status, RescoreStatus::rescored);
  EXPECT_FALSE(rescored.degraded);
  const auto model =
      MixEncoder::load(config.model, {.device = Device::cpu(), .precision = Precision::fp32, .instruction_set = {}});
  const MixCandidate texts[] = {{"a b c"}, {kLong}, {"x y"}};
  const MixScores expected = model->score("b x", texts);
  ASSERT_EQ(rescored.window.size(), 4U);
  EXPECT_EQ(rescored.last_score(1), nullptr);
  const std::size_t places[] = {0, 2, 3};
  for (std::size_t i = 0; i < 3; ++i) {
    const CandidateScore& score = rescored.last_score(places[i])->score;
    EXPECT_EQ(score.score, expected.candidates[i].score);
    EXPECT_EQ(score.tokens, expected.candidates[i].tokens);
    EXPECT_EQ(score.truncated, i == 1);
    EXPECT_FALSE(score.query_truncated);
  }
  for (std::size_t i = 1; i < 3; ++i) EXPECT_GE(rescored.order[i - 1].score, rescored.order[i].score);
  EXPECT_EQ(rescored.order.back().index, 1U);
  const std::string text = scorer->describe();
  EXPECT_NE(text.find("MixEncoder"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 20 tokens in 1 vector"), std::string::npos) << text;
}

TEST_F(MixEncoderAsRescorer, TheCpuStandsInForAGpuThatFailsOrIsAbsent) {
  const auto scorer = make_scorer(config);
  const RescoredCandidates truth = rescore_candidates(*scorer, "b x", candidates(), config, {});
  config.device = Device::cuda(0);
  const FakeCuda cuda;
  const auto on_gpu = make_scorer(config);
  EXPECT_NE(on_gpu->describe().find("cuda:0 (Fake GPU"), std::string::npos) << on_gpu->describe();
  EXPECT_EQ(embeddings_of(*on_gpu)->shape(), embeddings_of(*scorer)->shape());
  const auto expect_degraded = [&](const Scorer& of, const std::string& why) {
    const RescoredCandidates rescored = rescore_candidates(of, "b x", candidates(), config, {});
    ASSERT_EQ(rescored.status, RescoreStatus::rescored);
    EXPECT_EQ(rescored.degraded, !why.empty());
    EXPECT_NE(rescored.reason.find(why), std::string::npos) << rescored.reason;
    for (const std::size_t i : {0, 2, 3}) {
      EXPECT_EQ(rescored.last_score(i)->score.score, truth.last_score(i)->score.score) << why;
    }
  };
  expect_degraded(*on_gpu, "");
  {
    const FakeCuda broken("fail_score");
    expect_degraded(*on_gpu, "scored on the CPU, because cuda:0: is out of memory");
  }
  expect_degraded(*on_gpu, "");
  const FakeCuda absent("no_driver");
  const auto without = make_scorer(config);
  EXPECT_NE(without->notice().find("cuda:0 is not available"), std::string::npos) << without->notice();
  EXPECT_EQ(embeddings_of(*without)->shape(), embeddings_of(*scorer)->shape());
  expect_degraded(*without, "CUDA driver: there is none");
  config.fallback_device = FallbackDevice::none;
  expect_error(ErrorKind::device, {"CUDA driver"}, [&] { make_scorer(config); });
}

TEST_F(MixEncoderAsRescorer, AMissedDeadlineGivesTheFirstStagesOrder) {
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const RescoredCandidates rescored = rescore_candidates(*make_scorer(config), "b x", candidates(), config, late);
  EXPECT_TRUE(rescored.degraded);
  EXPECT_TRUE(rescored.in_first_stage_order);
  EXPECT_EQ(rescored.failure, ErrorKind::deadline);
}

TEST_F(MixEncoderAsRescorer, KeysThatDoNotApplyAreRefused) {
  const auto refuse = [&](const char* key, const auto& set) {
    SecondStageConfig changed = config;
    set(changed);
    expect_error(ErrorKind::usage, {std::string("[rescorer] ") + key, "does not apply to a MixEncoder"},
                 [&] { make_scorer(changed); });
  };
  refuse("max_length", [](auto& of) { of.max_length = 10; });
  refuse("max_query_length", [](auto& of) { of.max_query_length = 10; });
  refuse("instruction", [](auto& of) { of.instruction = "judge"; });
  refuse("attention_window", [](auto& of) { of.attention_window = 4; });
  refuse("pattern", [](auto& of) { of.pattern = PatternChoice::full; });
  refuse("long_documents", [](auto& of) { of.long_documents = LongDocuments::maxp; });
}

}  // namespace
}  // namespace relucent::testing
