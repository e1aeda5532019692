// The CUDA backend's recorded launches, on the emulator: when searches are recorded, what they then compute, and what
// happens where CUDA refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "relucent/error.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

// The module is looked for at the first use, after this.
const int kChosen = setenv("RELUCENT_CUDA_MODULE", RELUCENT_CUDA_EMULATED, 1);
constexpr const char* kSwitch = "RELUCENT_CUDA_GRAPHS";

class LaunchGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    emulator::Options options;
    options.memory = std::size_t{32} << 20;
    emulator::reset(options);
  }
  void TearDown() override {
    unsetenv(kSwitch);
    for (const emulator::Report& report : emulator::reports()) ADD_FAILURE() << emulator::to_string(report);
    EXPECT_EQ(emulator::live_graphs(), 0U);
    EXPECT_EQ(emulator::live_allocations(), 0U);
    emulator::reset();
  }

  std::unique_ptr<Backend> make() const { return model_.on({parse_device("cuda:0"), Precision::automatic, 1, ""}); }
  std::unique_ptr<Backend> make_without() const {
    setenv(kSwitch, "off", 1);
    auto made = make();
    unsetenv(kSwitch);
    return made;
  }
  Pairs pairs(const std::vector<std::size_t>& documents) { return random_pairs(model_, 5, documents); }

  static AttentionPattern sparse() {
    AttentionPattern pattern;
    pattern.query_cls = pattern.query_document = false;
    pattern.window = 4;
    return pattern;
  }
  RandomModel model_{{.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2}, sparse()};
};

TEST_F(LaunchGraphs, TheSecondSearchOfASizeRecordsAndLaterOnesAreOneCall) {
  const auto backend = make(), without = make_without();
  EXPECT_EQ(backend->info().launches, "recorded up to 4096 rows");
  EXPECT_EQ(without->info().launches, "one by one");
  for (int search = 1; search <= 4; ++search) {
    const Pairs next = pairs({3, 20, 70});
    const std::vector<float> wanted = next.logits(*without);
    emulator::clear_calls();
    EXPECT_EQ(next.logits(*backend), wanted) << "search " << search;
    const auto calls = emulator::calls();
    const auto count = [&](const char* call) { return calls.contains(call) ? calls.at(call) : 0; };
    EXPECT_EQ(count("cudaStreamBeginCapture"), search == 2 ? 1U : 0U) << "search " << search;
    EXPECT_EQ(count("cudaGraphLaunch"), search >= 2 ? 1U : 0U) << "search " << search;
    EXPECT_EQ(count("cudaLaunchKernel") + count("cublasLtMatmul") == 0, search >= 3) << "search " << search;
  }
}

TEST_F(LaunchGraphs, SearchesOfSimilarSizesShareOne) {
  const auto backend = make(), without = make_without();
  // 3 [CLS], 5 tokens of the query: 65 to 128 rows, in one to three tiles per document.
  const std::vector<std::vector<std::size_t>> sizes = {
      {20, 20, 20}, {1, 1, 118}, {64, 1, 1}, {30, 65, 1}, {40, 39, 41}};
  for (const auto& documents : sizes) {
    const Pairs next = pairs(documents);
    EXPECT_EQ(next.logits(*backend), next.logits(*without));
  }
  EXPECT_EQ(emulator::calls()["cudaStreamBeginCapture"], 2U) << "with that of the warm-up";
  // Another query length, another number of candidates and more rows are another size.
  emulator::clear_calls();
  pairs({20, 20, 90}).logits(*backend);
  pairs({20, 20}).logits(*backend);
  random_pairs(model_, 6, {20, 20, 20}).logits(*backend);
  EXPECT_EQ(emulator::calls()["cudaGraphLaunch"], 0U);
}

TEST_F(LaunchGraphs, TheLeastRecentlyUsedGoFirst) {
  const auto backend = make(), without = make_without();
  const std::size_t before = emulator::live_graphs();
  const Pairs often = pairs({9, 9});
  for (std::size_t query = 1; query <= 70; ++query) {
    const Pairs next = random_pairs(model_, query, {2});
    const std::vector<float> wanted = next.logits(*without);
    for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(next.logits(*backend), wanted) << query;
    often.logits(*backend);
  }
  EXPECT_LE(emulator::live_graphs(), before + 64);
  EXPECT_GE(emulator::live_graphs(), before + 60);
  emulator::clear_calls();
  EXPECT_EQ(often.logits(*backend), often.logits(*without));
  EXPECT_EQ(emulator::calls()["cudaGraphLaunch"], 1U);
}

TEST_F(LaunchGraphs, WhereCudaRefusesLaunchesAreStartedOneByOne) {
  const Pairs some = pairs({3, 20, 70});
  const std::vector<float> wanted = some.logits(*make_without());
  for (const char* call : {"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate", "cudaGraphLaunch",
                           "cudaLaunchKernel", "cublasLtMatmul"}) {
    const auto backend = make();
    EXPECT_EQ(some.logits(*backend), wanted);
    emulator::fail(call);
    EXPECT_EQ(some.logits(*backend), wanted) << call;
    emulator::clear_calls();
    EXPECT_EQ(some.logits(*backend), wanted) << call;
    EXPECT_EQ(emulator::calls()["cudaStreamBeginCapture"] + emulator::calls()["cudaGraphLaunch"], 0U) << call;
    EXPECT_GT(emulator::calls()["cudaLaunchKernel"], 5U) << call;
  }
}

TEST_F(LaunchGraphs, ABackendWhoseWarmUpCannotRecordIsUsable) {
  const Pairs some = pairs({3, 20, 70});
  const std::vector<float> wanted = some.logits(*make_without());
  for (const char* call : {"cudaStreamBeginCapture", "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    emulator::fail(call);
    const auto backend = make();
    EXPECT_EQ(backend->info().launches, "one by one") << call;
    for (int repeat = 0; repeat < 3; ++repeat) EXPECT_EQ(some.logits(*backend), wanted) << call;
  }
}

TEST_F(LaunchGraphs, OneThreadRecordsWhileAnotherMakesABackend) {
  const auto backend = make();
  std::atomic<bool> ends = false;
  std::thread maker([&] {
    while (!ends) EXPECT_NO_THROW(make());
  });
  for (std::size_t candidates = 1; candidates < 30; ++candidates) {
    const Pairs next = pairs(std::vector<std::size_t>(candidates, 3));
    for (int repeat = 0; repeat < 2; ++repeat) EXPECT_NO_THROW(next.logits(*backend));
  }
  ends = true;
  maker.join();
  emulator::clear_calls();
  pairs({1}).logits(*backend);
  pairs({1}).logits(*backend);
  EXPECT_GE(emulator::calls()["cudaGraphLaunch"], 1U) << "still recording";
}

}  // namespace
}  // namespace relucent::testing
