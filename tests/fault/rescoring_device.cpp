// A GPU that is absent or fails: who answers then, what the answer says, and that the GPU is tried again. Fake CUDA
// modules fail on command.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "cuda_support.h"
#include "relucent/rescore_query.h"
#include "rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

class RescoringDevice : public ::testing::Test {
 protected:
  SmallIndex index{ten_documents({"cats purr", "dogs bark", "what do cats eat", "cats eat fish", "rain"})};
  Config config = small_config();
  Lucene::QueryPtr query = newLucene<RescoreQuery>(term_query("word"), "what do cats eat");

  void SetUp() override {
    config.rescorer.device = "cuda:0";
    config.rescorer.precision = "fp32";
    config.rescorer.threads = 1;
  }
  Lucene::IndexSearcherPtr open() const { return openSearcher(index.folder(), config); }
  RescoredTopDocsPtr search(const Lucene::IndexSearcherPtr& searcher) const {
    return rescored(searcher->search(query, 10));
  }
  RescoredTopDocsPtr on_the_cpu() const {
    Config cpu = config;
    cpu.rescorer.device = "cpu";
    if (cpu.rescorer.precision == "fp16") cpu.rescorer.precision = "auto";
    return rescored(openSearcher(index.folder(), cpu)->search(query, 10));
  }
  void expect_same(const RescoredTopDocsPtr& a, const RescoredTopDocsPtr& b) const {
    EXPECT_EQ(documents_of(a), documents_of(b));
    EXPECT_EQ(scores_of(a), scores_of(b));
  }
  void expect_from_cpu(const RescoredTopDocsPtr& answer, const std::string& reason) const {
    EXPECT_TRUE(answer->degraded);
    EXPECT_NE(answer->reason.find("on the CPU"), std::string::npos) << answer->reason;
    EXPECT_NE(answer->reason.find(reason), std::string::npos) << answer->reason;
    EXPECT_EQ(answer->rescored, 5);
    EXPECT_EQ(rescored_hit(answer, 0)->standing, RescoredHit::Standing::rescored);
    expect_same(answer, on_the_cpu());
  }
  void expect_first_stage(const RescoredTopDocsPtr& answer, const std::string& reason) const {
    EXPECT_TRUE(answer->degraded);
    EXPECT_NE(answer->reason.find(reason), std::string::npos) << answer->reason;
    EXPECT_EQ(answer->rescored, 0);
    const auto bm25 = bm25_searcher(index)->search(term_query("word"), 10);
    EXPECT_EQ(documents_of(answer), documents_of(bm25));
    EXPECT_EQ(scores_of(answer), scores_of(bm25));
  }
};

TEST_F(RescoringDevice, AGpuThatWorksAnswersAndTellsItsTime) {
  const FakeCuda cuda;
  const auto answer = search(open());
  EXPECT_FALSE(answer->degraded) << answer->reason;
  EXPECT_EQ(answer->milliseconds.device, 0.125);
  expect_same(answer, on_the_cpu());
  EXPECT_EQ(on_the_cpu()->milliseconds.device, 0);
  EXPECT_NE(to_utf8(open()->explain(query, 3)->toString()).find("cuda:0 (Fake GPU, sm_90"), std::string::npos);
}

TEST_F(RescoringDevice, AFailureIsAnsweredByTheCpuAndTheNextSearchTriesTheGpuAgain) {
  const FakeCuda cuda;
  const auto searcher = open();
  EXPECT_FALSE(search(searcher)->degraded);
  for (const char* told : {"fail_score", "fail_score", "fail_score", "fail_score", "fail_score"}) {
    const FakeCuda broken(told);
    expect_from_cpu(search(searcher), "is out of memory");
  }
  const auto again = search(searcher);
  EXPECT_FALSE(again->degraded) << again->reason;
  EXPECT_EQ(again->milliseconds.device, 0.125);
}

TEST_F(RescoringDevice, WithoutFallbackAFailureGivesTheFirstStagesOrderOrAnError) {
  const FakeCuda cuda;
  config.rescorer.fallback_device = "none";
  const auto lenient = open();
  config.rescorer.on_error = OnError::fail;
  const auto strict = open();
  {
    const FakeCuda broken("fail_score");
    expect_first_stage(search(lenient), "is out of memory; rescore fewer hits");
    EXPECT_THROW(search(strict), Error);
  }
  EXPECT_FALSE(search(lenient)->degraded);
  EXPECT_FALSE(search(strict)->degraded);
}

TEST_F(RescoringDevice, AnAbsentGpuIsAnsweredByTheCpu) {
  {
    const auto none = no_cuda_module();
    expect_from_cpu(search(open()), "RELUCENT_CUDA_MODULE");
  }
  const std::pair<const char*, const char*> troubles[] = {{"no_driver", "CUDA driver: there is none"},
                                                          {"no_gpu", "this machine has no GPU"},
                                                          {"old_gpu", "compute capability 7.5 is below 8.0"},
                                                          {"fail_make", "is out of memory; free some"},
                                                          {"null", "made no backend"}};
  for (const auto& [told, reason] : troubles) {
    const FakeCuda cuda(told);
    const auto searcher = open();
    expect_from_cpu(search(searcher), reason);
    expect_from_cpu(search(searcher), reason);
  }
}

TEST_F(RescoringDevice, AGpuThatComesBackIsTakenAfterSomeSeconds) {
  const FakeCuda cuda("no_driver");
  const auto searcher = open();
  EXPECT_TRUE(search(searcher)->degraded);
  const FakeCuda repaired;
  EXPECT_TRUE(search(searcher)->degraded) << "loading is not tried at every search";
  std::this_thread::sleep_for(std::chrono::milliseconds(5100));
  EXPECT_FALSE(search(searcher)->degraded);
}

TEST_F(RescoringDevice, AnAbsentGpuWithoutFallbackIsTheFirstStagesOrderOrAnErrorWhenOpening) {
  const FakeCuda cuda("no_driver");
  config.rescorer.fallback_device = "none";
  const auto searcher = open();
  expect_first_stage(search(searcher), "CUDA driver: there is none");
  EXPECT_FALSE(to_utf8(searcher->explain(query, 3)->toString()).empty());
  config.rescorer.on_error = OnError::fail;
  try {
    open();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
  }
}

TEST_F(RescoringDevice, WhatIsNoFaultOfTheDeviceIsAnErrorWhenOpening) {
  const FakeCuda cuda("refuse");
  EXPECT_THROW(open(), Error);  // unsupported: no waiting helps
  config.rescorer.model = "/no/such/model";
  EXPECT_THROW(open(), Error);
}

TEST_F(RescoringDevice, TheCpuStandsInForAPrecisionThatItLacks) {
  config.rescorer.precision = "fp16";
  const FakeCuda cuda("fail_score");
  expect_from_cpu(search(open()), "is out of memory");
}

TEST_F(RescoringDevice, ADeadlineMissedOnTheCpuSaysBothReasons) {
  config.rescorer.timeout_ms = 1;
  config.rescorer.model = "model/relucent-minilm-l6-w4";
  const FakeCuda cuda("fail_score");
  const auto answer = search(open());  // loading the CPU's model takes longer
  expect_first_stage(answer, "is out of memory");
  EXPECT_NE(answer->reason.find("CPU"), std::string::npos) << answer->reason;
}

TEST_F(RescoringDevice, AutoTakesTheGpuAndFallsBackFromItToo) {
  config.rescorer.device = "auto";
  {
    const FakeCuda cuda;
    const auto searcher = open();
    EXPECT_EQ(search(searcher)->milliseconds.device, 0.125);
    const FakeCuda broken("fail_score");
    expect_from_cpu(search(searcher), "is out of memory");
  }
  const FakeCuda absent("no_driver");
  const auto answer = search(open());
  EXPECT_FALSE(answer->degraded) << "auto may take the CPU";
}

TEST_F(RescoringDevice, TheLogSaysWhyThereIsNoGpu) {
  const TemporaryFolder folder;
  config.log.level = "info";
  config.log.file = (folder.path() / "relucent.log").string();
  config.rescorer.device = "auto";
  {
    const FakeCuda absent("no_driver");
    search(open());
  }
  std::ostringstream log;
  log << std::ifstream(config.log.file).rdbuf();
  EXPECT_NE(log.str().find("no GPU is used: CUDA driver: there is none; install NVIDIA's driver"), std::string::npos)
      << log.str();
}

TEST_F(RescoringDevice, SearchesAtOnceAllGetAnAnswerWhileTheGpuComesAndGoes) {
  const FakeCuda cuda("fail_score");
  const auto searcher = open();
  const auto wanted = on_the_cpu();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        const auto answer = search(searcher);
        EXPECT_TRUE(answer->degraded);
        expect_same(answer, wanted);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace relucent
