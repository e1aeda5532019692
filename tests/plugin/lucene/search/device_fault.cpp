// A GPU that is absent or fails: who answers then, what the answer reports, and that the GPU is tried again. Fake CUDA
// modules fail on command.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "plugin/second_stage/device_fallback.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/rescore_query.h"
#include "tests/support/cuda_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

class RescoringDevice : public ::testing::Test {
 protected:
  SmallIndex index{ten_documents({"cats purr", "dogs bark", "what do cats eat", "cats eat fish", "rain"})};
  Config config = small_config();
  Lucene::QueryPtr query = newLucene<RescoreQuery>(term_query("word"), "what do cats eat");

  void SetUp() override {
    config.rescorer.device = Device::cuda(0);
    config.rescorer.precision = Precision::fp32;
    config.rescorer.threads = 1;
  }
  Lucene::IndexSearcherPtr open() const { return openSearcher(index.folder(), config); }
  RescoredTopDocsPtr search(const Lucene::IndexSearcherPtr& searcher) const {
    return rescored(searcher->search(query, 10));
  }
  RescoredTopDocsPtr on_the_cpu() const {
    Config cpu = config;
    cpu.rescorer.device = Device::cpu();
    if (cpu.rescorer.precision == Precision::fp16) cpu.rescorer.precision = Precision::automatic;
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
    EXPECT_EQ(rescored_hit(answer, 0)->status, HitStatus::rescored);
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
  EXPECT_EQ(answer->times.device, std::chrono::microseconds(125));
  expect_same(answer, on_the_cpu());
  EXPECT_EQ(on_the_cpu()->times.device.count(), 0);
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
  EXPECT_EQ(again->times.device, std::chrono::microseconds(125));
}

TEST_F(RescoringDevice, WithoutFallbackAFailureGivesTheFirstStagesOrderOrAnError) {
  const FakeCuda cuda;
  config.rescorer.fallback_device = FallbackDevice::none;
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
                                                          {"null", "returned no backend"}};
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
  config.rescorer.fallback_device = FallbackDevice::none;
  const auto searcher = open();
  expect_first_stage(search(searcher), "CUDA driver: there is none");
  EXPECT_FALSE(to_utf8(searcher->explain(query, 3)->toString()).empty());
  config.rescorer.on_error = OnError::fail;
  expect_error(ErrorKind::device, [&] { open(); });
}

TEST_F(RescoringDevice, WhatIsNoFaultOfTheDeviceIsAnErrorWhenOpening) {
  const FakeCuda cuda("refuse");
  EXPECT_THROW(open(), Error);  // unsupported: no waiting helps
  config.rescorer.model = "/no/such/model";
  EXPECT_THROW(open(), Error);
}

TEST_F(RescoringDevice, TheCpuStandsInForAPrecisionThatItLacks) {
  config.rescorer.precision = Precision::fp16;
  const FakeCuda cuda("fail_score");
  expect_from_cpu(search(open()), "is out of memory");
}

TEST_F(RescoringDevice, ADeadlineMissedOnTheCpuStatesBothReasons) {
  config.rescorer.timeout = std::chrono::seconds(2);
  const FakeCuda cuda("late,fail_score");  // fails when the two seconds are over
  const auto answer = search(open());
  expect_first_stage(answer, "is out of memory");
  EXPECT_NE(answer->reason.find("CPU"), std::string::npos) << answer->reason;
}

TEST_F(RescoringDevice, AutoTakesTheGpuAndFallsBackFromItToo) {
  config.rescorer.device = Device::automatic();
  {
    const FakeCuda cuda;
    const auto searcher = open();
    EXPECT_EQ(search(searcher)->times.device, std::chrono::microseconds(125));
    const FakeCuda broken("fail_score");
    expect_from_cpu(search(searcher), "is out of memory");
  }
  const FakeCuda absent("no_driver");
  const auto answer = search(open());
  EXPECT_FALSE(answer->degraded) << "auto may take the CPU";
}

TEST_F(RescoringDevice, TheLogStatesWhyThereIsNoGpu) {
  const TemporaryFolder folder;
  config.log.level = LogLevel::info;
  config.log.file = (folder.path() / "relucent.log").string();
  config.rescorer.device = Device::automatic();
  {
    const FakeCuda absent("no_driver");
    search(open());
  }
  std::ostringstream log;
  log << std::ifstream(config.log.file).rdbuf();
  EXPECT_NE(log.str().find("no GPU is used: CUDA driver: there is none; install NVIDIA's driver"), std::string::npos)
      << log.str();
}

// A GPU that does not start is a fault of the machine, unlike one that is not there.
TEST_F(RescoringDevice, AGpuThatFailsUnderAutoIsAWarning) {
  const TemporaryFolder folder;
  config.log.level = LogLevel::warning;
  config.log.file = (folder.path() / "relucent.log").string();
  config.rescorer.device = Device::automatic();
  const auto logged = [&](const char* told) {
    const FakeCuda cuda(told);
    const auto searcher = open();
    EXPECT_FALSE(search(searcher)->degraded);
    return bytes_of(config.log.file);
  };
  for (const char* absent : {"", "no_gpu", "no_driver", "refuse"}) EXPECT_EQ(logged(absent), "") << absent;
  const std::string log = logged("fail_make");
  EXPECT_NE(log.find("the CPU is used although there is a GPU: cuda:0: is out of memory; free some; choose device = "),
            std::string::npos)
      << log;
}

/// What a fake module was asked, and a gate at which it waits while it makes a backend.
class WatchedCuda {
 public:
  std::size_t count(const std::string& call) const {
    std::ifstream calls(folder_ / "calls");
    std::string line;
    std::size_t count = 0;
    while (std::getline(calls, line)) count += line == call ? 1 : 0;
    return count;
  }
  void wait_for(const std::string& call, std::size_t times) const {
    for (int i = 0; i < 3000 && count(call) < times; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GE(count(call), times);
  }
  void open_gate() const { folder_.write("gate", ""); }

 private:
  TemporaryFolder folder_;
  Environment calls_{"RELUCENT_FAKE_CUDA_CALLS", (folder_ / "calls").string()};
  Environment gate_{"RELUCENT_FAKE_CUDA_GATE", (folder_ / "gate").string()};
};

TEST_F(RescoringDevice, WhileTheModelIsLoadedAgainOtherSearchesAreAnsweredByTheCpu) {
  const WatchedCuda watched;
  const FakeCuda cuda("fail_score");
  auto searcher = open();
  for (int i = 0; i < 3; ++i) expect_from_cpu(search(searcher), "is out of memory");
  const FakeCuda slow("wait_make");
  std::thread first([&] { EXPECT_FALSE(search(searcher)->degraded); });  // it begins to load, and waits
  watched.wait_for("make", 2);
  // Whoever waited for the load would wait for the gate.
  expect_from_cpu(search(searcher), "is out of memory");
  expect_from_cpu(search(searcher), "is out of memory");
  EXPECT_EQ(watched.count("make"), 2U);
  watched.open_gate();
  first.join();
  EXPECT_FALSE(search(searcher)->degraded);
  EXPECT_EQ(watched.count("make"), 2U);
}

TEST_F(RescoringDevice, ASearchWithADeadlineDoesNotWaitForAModelThatIsLoaded) {
  const WatchedCuda watched;
  const FakeCuda cuda("fail_score");
  config.rescorer.timeout = std::chrono::milliseconds(60'000);
  auto searcher = open();
  for (int i = 0; i < 3; ++i) expect_from_cpu(search(searcher), "is out of memory");
  const FakeCuda slow("wait_make");
  expect_from_cpu(search(searcher), "is out of memory");  // before the gate is open
  watched.wait_for("make", 2);
  watched.open_gate();
  for (int i = 0; i < 1000 && search(searcher)->degraded; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(search(searcher)->degraded);
  EXPECT_EQ(watched.count("make"), 2U);
}

TEST_F(RescoringDevice, WithoutTheCpuASearchWaitsForALoadUntilItsDeadlineOnly) {
  const WatchedCuda watched;
  const FakeCuda cuda("fail_score");
  config.rescorer.fallback_device = FallbackDevice::none;
  config.rescorer.timeout = std::chrono::seconds(2);
  auto searcher = open();
  for (int i = 0; i < 3; ++i) expect_first_stage(search(searcher), "");
  const FakeCuda slow("wait_make");
  expect_first_stage(search(searcher), "loading the model ran out of time");
  watched.open_gate();
  searcher.reset();  // waits for the load, which reads the environment
}

TEST_F(RescoringDevice, AnOverflowIsNoFailureOfTheDevice) {
  const TemporaryFolder folder;
  config.log = {LogLevel::warning, (folder / "relucent.log").string()};
  const WatchedCuda watched;
  const FakeCuda cuda("overflow");
  const auto searcher = open();
  for (int i = 0; i < 7; ++i) expect_from_cpu(search(searcher), "beyond the range of fp16");
  EXPECT_EQ(watched.count("make"), 1U) << "loaded again";
  EXPECT_EQ(watched.count("score"), 7U);
  std::ostringstream log;
  log << std::ifstream(config.log.file).rdbuf();
  const std::string text = log.str();
  EXPECT_NE(text.find("beyond the range of fp16"), std::string::npos) << text;
  EXPECT_EQ(text.find("beyond the range of fp16"), text.rfind("beyond the range of fp16")) << text;
}

TEST_F(RescoringDevice, TextsThatTheGpuCannotComputeDoNotKeepOtherSearchesOffIt) {
  const WatchedCuda watched;
  const FakeCuda cuda;
  const auto searcher = open();
  for (const char* told : {"overflow", "too_long"}) {
    {
      const FakeCuda hostile(told);
      for (int i = 0; i < 10; ++i) expect_from_cpu(search(searcher), "use ");
    }
    const auto next = search(searcher);
    EXPECT_FALSE(next->degraded) << next->reason;
    EXPECT_EQ(next->times.device, std::chrono::microseconds(125));
  }
  EXPECT_EQ(watched.count("make"), 1U);
}

TEST_F(RescoringDevice, TextsThatNoDeviceCanComputeAreNotBlamedOnTheGpu) {
  const FakeCuda cuda;
  const DeviceFallback<CrossEncoder> encoders(config.rescorer, config.rescorer.on_error,
                                              [](const ScorerConfig&, const BackendOptions& backend) {
                                                CrossEncoderOptions options;
                                                options.backend = backend;
                                                return CrossEncoder::load(default_model(), options);
                                              });
  const auto device_of = [](const CrossEncoder& encoder) { return encoder.backend().device; };
  for (int i = 0; i < 5; ++i) {
    try {
      encoders.score(
          [](const CrossEncoder&) -> int {
            throw Error(ErrorKind::unsupported, "tokenizer.json", "makes a text many times longer", "use another");
          },
          {});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_STREQ(error.what(), "tokenizer.json: makes a text many times longer; use another");
    }
    const auto next = encoders.score(device_of, {});
    EXPECT_EQ(next.scores, "cuda:0");
    EXPECT_EQ(next.reason, "");
  }
}

TEST_F(RescoringDevice, AnOverflowWithoutFallbackIsUnsupported) {
  const FakeCuda cuda("overflow");
  config.rescorer.fallback_device = FallbackDevice::none;
  const auto lenient = open();
  for (int i = 0; i < 5; ++i) expect_first_stage(search(lenient), "beyond the range of fp16");
  config.rescorer.on_error = OnError::fail;
  expect_error(ErrorKind::unsupported, "bf16", [&] { search(open()); });
  const FakeCuda fits;
  EXPECT_FALSE(search(lenient)->degraded);
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
