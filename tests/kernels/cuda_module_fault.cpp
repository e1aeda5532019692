// The loader of the CUDA module: what it takes, what it refuses and with which words.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "kernels/cuda_module.h"
#include "relucent/error.h"
#include "relucent/kernels/attention_time.h"
#include "relucent/kernels/devices.h"
#include "relucent/kernels/peak.h"
#include "tests/support/cuda_support.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

BackendOptions on(const std::string& device, Precision precision = Precision::automatic) {
  return {parse_device(device), precision, 1, ""};
}

class CudaModule : public ::testing::Test {
 protected:
  RandomModel model{{}};
  void expect_device_error(const std::vector<std::string>& words) {
    expect_error(ErrorKind::device, words, [&] { model.on(on("cuda:0")); });
    const auto chosen = model.on(on("auto"));
    EXPECT_EQ(chosen->info().device, "cpu");
    EXPECT_NE(chosen->info().why_no_gpu.find(words.front()), std::string::npos) << chosen->info().why_no_gpu;
    const auto all = list_devices();
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all[0].name, "cpu");
    EXPECT_TRUE(all[0].usable());
    EXPECT_FALSE(all[1].usable());
    EXPECT_NE((all[1].description + all[1].problem).find(words.front()), std::string::npos) << all[1].problem;
    EXPECT_FALSE(all[1].remedy.empty()) << all[1].problem;
  }
};

TEST_F(CudaModule, AbsentIsAnErrorThatNamesTheVariable) {
  const auto none = no_cuda_module();
  expect_device_error({"/no/such/librelucent_cuda.so", "RELUCENT_CUDA_MODULE"});
}

TEST_F(CudaModule, MayBeSwitchedOff) {
  const Environment none("RELUCENT_CUDA_MODULE", "none");
  expect_device_error({"is disabled by RELUCENT_CUDA_MODULE=none", "unset it"});
}

TEST_F(CudaModule, NotInstalledIsAnErrorThatNamesTheRemedies) {
  if (std::ifstream(RELUCENT_CUDA_MODULE_BUILT)) GTEST_SKIP() << "SKIPPED: this build has a CUDA module to find";
  const Environment unset("RELUCENT_CUDA_MODULE", "");
  expect_device_error({"librelucent_cuda.so", "RELUCENT_CUDA=on", "device = \"cpu\""});
}

TEST_F(CudaModule, TheRealOneStatesWhatIsMissing) {
  if (!std::ifstream(RELUCENT_CUDA_MODULE_BUILT)) GTEST_SKIP() << "SKIPPED: built without a CUDA toolkit";
  const Environment real("RELUCENT_CUDA_MODULE", "");  // found next to the program
  for (const auto& device : list_devices()) {
    if (device.name == "cpu") continue;
    EXPECT_TRUE(device.usable() || !device.remedy.empty()) << device.problem;
    EXPECT_EQ(device.problem.find("cannot be loaded"), std::string::npos) << device.problem;
    if (!device.usable()) std::cout << device.name << ": " << device.problem << "; " << device.remedy << '\n';
  }
}

TEST_F(CudaModule, AFileThatIsNoModuleIsRefused) {
  const Environment file("RELUCENT_CUDA_MODULE", "tests/kernels/cuda_module_fault.cpp");
  expect_device_error({"cannot be loaded", "the same build"});
  const Environment other("RELUCENT_CUDA_MODULE", std::string(RELUCENT_FAKE_CUDA_MODULES) + "/fake_cuda_empty.so");
  expect_device_error({"does not export relucent_cuda_module"});
}

TEST_F(CudaModule, AMissingLibraryOfItsIsNamed) {
  const FakeCuda cuda("", "fake_cuda_missing_library");
  expect_device_error({"libcublasLt_not_there.so", "cannot be loaded", "install the CUDA libraries"});
}

TEST_F(CudaModule, AnotherInterfaceOrVersionIsRefused) {
  {
    const FakeCuda cuda("", "fake_cuda_other_abi");
    expect_device_error({"module interface " + std::to_string(cuda::kModuleAbi + 1), "the same build"});
  }
  const FakeCuda cuda("", "fake_cuda_other_version");
  expect_device_error({"belongs to Relucent 0.0.9", "the same build"});
}

TEST_F(CudaModule, DriverAndGpuProblemsAreSaid) {
  {
    const FakeCuda cuda("no_driver");
    expect_device_error({"CUDA driver: there is none", "install"});
  }
  {
    const FakeCuda cuda("no_gpu");
    expect_error(ErrorKind::device, {"cuda:0", "no GPU"}, [&] { model.on(on("cuda:0")); });
    expect_error(ErrorKind::device, {"cuda", "no GPU"}, [&] { model.on(on("cuda")); });
    EXPECT_NE(list_devices().at(1).problem.find("no GPU"), std::string::npos);
    EXPECT_FALSE(model.on(on("auto"))->info().why_no_gpu.empty());
  }
  {
    const FakeCuda cuda("old_gpu");
    expect_device_error({"compute capability 7.5 is below 8.0"});
    expect_error(ErrorKind::device, {"device cuda:0: Fake GPU: compute capability 7.5 is below 8.0; use"},
                 [&] { model.on(on("cuda:0")); });
    expect_error(ErrorKind::device, {"compute capability 7.5"}, [&] { model.on(on("cuda")); });
  }
  for (const char* odd : {"odd_error", "integer"}) {
    const FakeCuda cuda(odd);
    expect_device_error({"listing the GPUs failed"});
  }
}

TEST_F(CudaModule, AGpuThatWorksIsTaken) {
  const FakeCuda cuda("two");
  EXPECT_EQ(model.on(on("auto"))->info().device, "cuda:0");
  EXPECT_EQ(model.on(on("auto"))->info().why_no_gpu, "");
  EXPECT_EQ(model.on(on("cuda:1"))->info().device, "cuda:1");
  EXPECT_EQ(model.on(on("cuda"))->info().device, "cuda:0,1");
  EXPECT_EQ(describe(model.on(on("cuda:1", Precision::bf16))->info()), "cuda:1 (Fake GPU, sm_90, bf16)");
  expect_error(ErrorKind::device, {"cuda:2", "cuda:0 (Fake GPU), cuda:1 (Fake GPU)"}, [&] { model.on(on("cuda:2")); });
  const auto all = list_devices();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].name, "cuda:1");
  EXPECT_EQ(all[2].description, "Fake GPU, compute capability 9.0, 80 GB (78 GB free)");
  EXPECT_TRUE(all[2].usable());
  EXPECT_EQ(measured_peak(model.on(on("cuda:1"))->info()).best, 2e12);
  EXPECT_EQ(time_attention(model.on(on("cuda:1"))->info(), {.tokens = 7}, 3),
            std::vector<std::chrono::nanoseconds>(3, std::chrono::nanoseconds(7)));
}

TEST_F(CudaModule, ItsBackendScoresAndTellsTheCost) {
  const FakeCuda cuda;
  const Pairs pairs = random_pairs(model, 4, {5, 9});
  const auto gpu = model.on(on("cuda:0"));
  EXPECT_EQ(pairs.logits(*gpu), pairs.logits(*model.on(on("cpu", Precision::fp32))));
  const PairSegments segments(1, pairs.query, pairs.documents);
  std::vector<float> logits(2);
  const DeviceCost cost = gpu->score_with_cost(segments.batch(), logits);
  EXPECT_EQ(cost.time, std::chrono::microseconds(125));
  EXPECT_EQ(cost.bytes, 2'000'000U);
  const DeviceCost none = model.on(on("cpu"))->score_with_cost(segments.batch(), logits);
  EXPECT_EQ(none.time.count(), 0);
}

TEST_F(CudaModule, AutoTakesTheCpuForWhatTheGpuRefuses) {
  for (const char* told : {"refuse", "fail_make", "null"}) {
    const FakeCuda cuda(told);
    const auto chosen = model.on(on("auto"));
    EXPECT_EQ(chosen->info().device, "cpu");
    EXPECT_FALSE(chosen->info().why_no_gpu.empty());
    EXPECT_THROW(model.on(on("cuda:0")), Error);
    expect_error(ErrorKind::unsupported, {"fp16", "needs a GPU"}, [&] { model.on(on("auto", Precision::fp16)); });
  }
  const FakeCuda cuda;
  EXPECT_EQ(model.on(on("auto", Precision::int8))->info().device, "cpu");
  EXPECT_EQ(model.on({Device::automatic(), Precision::automatic, 1, "plain"})->info().instruction_set, "plain");
}

TEST_F(CudaModule, IsLoadedOnceByManyThreads) {
  const FakeCuda cuda;
  std::vector<const cuda::Module*> found(8);
  std::vector<std::thread> threads;
  for (auto& each : found) threads.emplace_back([&each] { each = &cuda::module(); });
  for (auto& thread : threads) thread.join();
  for (const auto* each : found) EXPECT_EQ(each, found.front());
}

}  // namespace
}  // namespace relucent::testing
