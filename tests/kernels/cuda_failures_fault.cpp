// The CUDA backend on emulated GPUs that fail: at every call it makes, with little memory, lost for good, or not there.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "relucent/error.h"
#include "relucent/kernels/attention_time.h"
#include "relucent/kernels/devices.h"
#include "relucent/kernels/peak.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/include/cuda.h"
#include "tests/cuda_emulator/include/cuda_runtime.h"
#include "tests/support/expect_error.h"
#include "tests/support/kernels_support.h"
#include "tests/support/mix_inputs.h"
#include "tests/support/passage_inputs.h"

namespace relucent::testing {
namespace {

// The module is looked for at the first use, after this.
const int kChosen = setenv("RELUCENT_CUDA_MODULE", RELUCENT_CUDA_EMULATED, 1);

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

AttentionPattern sparse() {
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = false;
  pattern.window = 4;
  return pattern;
}

emulator::Options with_memory(std::size_t bytes) {
  emulator::Options options;
  options.memory = bytes;
  return options;
}

emulator::Options with_gpus(int devices) {
  emulator::Options options = with_memory(8 * kMegabyte);
  options.devices = devices;
  return options;
}

/// A host that works with the driver: a context of its own, current on this thread, which must stay so.
class Host {
 public:
  explicit Host(CUdevice device) { EXPECT_EQ(cuCtxCreate(&own_, nullptr, 0, device), CUDA_SUCCESS); }
  ~Host() {
    EXPECT_EQ(emulator::thread_context(), own_) << "the host's context is no longer the current one";
    EXPECT_EQ(cuCtxDestroy(own_), CUDA_SUCCESS);
    EXPECT_EQ(emulator::thread_context(), nullptr) << "something was left on the thread's stack of contexts";
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

 private:
  CUcontext own_ = nullptr;
};

class CudaFailures : public ::testing::Test {
 protected:
  HiddenStates states_of_first(const Backend& backend) const {
    return Pairs{pairs_.query, {pairs_.documents[0]}}.states(backend);
  }

  void SetUp() override { emulator::reset(with_memory(8 * kMegabyte)); }

  void TearDown() override {
    for (const emulator::Report& report : emulator::reports()) ADD_FAILURE() << emulator::to_string(report);
    expect_nothing_alive();
    emulator::reset();
  }

  static void expect_nothing_alive() {
    EXPECT_EQ(emulator::live_allocations(), 0U);
    EXPECT_EQ(emulator::live_pinned(), 0U);
    EXPECT_EQ(emulator::live_streams(), 0U);
    EXPECT_EQ(emulator::live_events(), 0U);
    EXPECT_EQ(emulator::live_graphs(), 0U);
    EXPECT_EQ(emulator::live_cublas_objects(), 0U);
  }

  std::unique_ptr<Backend> make(const std::string& device = "cuda:0") const {
    return model_.on({parse_device(device), Precision::automatic, 1, ""});
  }

  /// The error of kind `device` that the action ends with; empty if it succeeds. Any other error is the test's failure.
  template <typename Action>
  static std::string device_error(const Action& action) {
    const void* const before = emulator::thread_context();
    std::string what;
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device) << error.what();
      what = error.what();
    }
    EXPECT_EQ(emulator::thread_context(), before) << "the thread's context was replaced: " << what;
    return what;
  }

  /// Lets calls of a search fail, `most` of each kind, each with a backend of its own.
  template <typename Make, typename Search>
  static void expect_failures_told(const Make& make_one, const Search& search, std::uint64_t most);

  RandomModel model_{{.hidden = 32, .heads = 2, .intermediate = 48, .layers = 2}, sparse()};
  Pairs pairs_ = random_pairs(model_, 5, {3, 20, 70});
};

/// Calls whose failure costs nothing: what they would have told or freed is not needed any more.
bool may_fail_unseen(const std::string& call) {
  static const std::set<std::string> harmless = {"cudaGetDevice",   "cudaGetLastError", "cudaFree",
                                                 "cudaFreeHost",    "cudaEventDestroy", "cudaStreamDestroy",
                                                 "cuCtxGetCurrent", "cuCtxPopCurrent"};
  return harmless.contains(call) || call.ends_with("Destroy") || call.starts_with("cudaGetError") ||
         call.ends_with("GetVersion") || call.ends_with("StatusString");
}

/// Which of `count` calls are made to fail: all of them, or some `most` of those that are made often.
std::vector<std::uint64_t> sites_of(std::uint64_t count, std::uint64_t most = 20) {
  std::vector<std::uint64_t> sites;
  for (std::uint64_t nth = 1; nth <= count; nth += 1 + count / most) sites.push_back(nth);
  return sites;
}

/// An error that gives no hint of what might help.
int unknown_error(const std::string& call) {
  constexpr int cublas_internal_error = 14, cuda_unknown = 999;
  return call.starts_with("cublas") ? cublas_internal_error : cuda_unknown;
}

template <typename Make, typename Search>
void CudaFailures::expect_failures_told(const Make& make_one, const Search& search, std::uint64_t most) {
  std::vector<float> truth;
  std::map<std::string, std::uint64_t> calls;
  {
    const auto backend = make_one();
    emulator::clear_calls();
    truth = search(*backend);
    calls = emulator::calls();
  }
  EXPECT_GT(calls["cudaLaunchKernel"], 5U);
  EXPECT_GT(calls["cublasLtMatmul"], 5U);
  emulator::Options same_gpu = with_memory(8 * kMegabyte);
  same_gpu.same_gpus = true;
  for (const auto& [call, count] : calls) {
    for (const std::uint64_t nth : sites_of(count, most)) {
      emulator::reset(same_gpu);
      const Host host(0);
      const auto backend = make_one();
      emulator::fail(call, nth, unknown_error(call));
      const std::string what = device_error([&] { search(*backend); });
      if (!may_fail_unseen(call)) {
        EXPECT_NE(what.find("cuda:0"), std::string::npos) << call << " number " << nth << ": " << what;
      }
      EXPECT_EQ(search(*backend), truth) << "after " << call << " number " << nth;
    }
  }
  emulator::reset(with_memory(8 * kMegabyte));
}

// The first test of this program: the functions are looked for once.
TEST_F(CudaFailures, ToFindADriversFunctionsAreErrorsAndTheyAreLookedForAgain) {
  constexpr const char* call = "cudaGetDriverEntryPointByVersion";
  std::size_t failures = 0;
  for (std::uint64_t nth = 1;; ++nth, ++failures) {
    emulator::reset(with_memory(8 * kMegabyte));
    emulator::fail(call, nth, unknown_error(call));
    const std::string what = device_error([&] { make(); });
    if (what.empty()) break;
    EXPECT_NE(what.find("cuda:0"), std::string::npos) << what;
    EXPECT_NE(what.find("in the driver"), std::string::npos) << what;
    expect_nothing_alive();
  }
  emulator::reset(with_memory(8 * kMegabyte));
  if (failures == 0) GTEST_SKIP() << "SKIPPED: an earlier test has found them";
  EXPECT_GT(failures, 5U);
}

TEST_F(CudaFailures, AtAnyCallWhileTheBackendIsMadeLeaveNothingBehind) {
  make();
  emulator::clear_calls();
  auto kept = make();
  const auto calls = emulator::calls();
  kept.reset();
  std::size_t sites = 0;
  for (const auto& [call, count] : calls) {
    for (const std::uint64_t nth : sites_of(count)) {
      ++sites;
      emulator::reset(with_memory(8 * kMegabyte));
      const Host host(0);
      emulator::fail(call, nth, unknown_error(call));
      const std::string what = device_error([&] { make(); });
      // What launches are recorded with may fail: they are launched one by one instead.
      const bool recorded = emulator::calls()["cudaGraphLaunch"] > 0 && call != "cudaGraphLaunch";
      if (recorded && call != "cublasLtMatmulAlgoCheck") {  // another algorithm is tried
        EXPECT_TRUE(!what.empty() || may_fail_unseen(call)) << call << " number " << nth;
      }
      EXPECT_TRUE(what.empty() || what.find("cuda") != std::string::npos) << what;
      if (!call.ends_with("Destroy") && !call.starts_with("cudaFree")) expect_nothing_alive();
      EXPECT_EQ(device_error([&] { make(); }), "") << "after " << call << " number " << nth;
    }
  }
  EXPECT_GT(sites, 100U);
  emulator::reset(with_memory(8 * kMegabyte));
}

TEST_F(CudaFailures, AtAnyCallWhileTheBackendIsTakenDownAreHarmless) {
  auto backend = make();
  emulator::clear_calls();
  backend.reset();
  const auto calls = emulator::calls();
  EXPECT_GT(calls.size(), 5U);
  for (const auto& [call, count] : calls) {
    for (std::uint64_t nth = 1; nth <= count; ++nth) {
      emulator::reset(with_gpus(2));
      const Host host(0);
      backend = make("cuda:1");
      emulator::fail(call, nth, unknown_error(call));
      EXPECT_EQ(device_error([&] { backend.reset(); }), "") << call << " number " << nth;
      EXPECT_FALSE(emulator::had_context(0)) << call << " number " << nth;
    }
  }
  emulator::reset(with_memory(8 * kMegabyte));
}

TEST_F(CudaFailures, OnlyTheGpuThatIsUsedGetsAContext) {
  const auto expect_only = [](const std::vector<int>& wanted, const std::string& device) {
    for (int gpu = 0; gpu < 3; ++gpu) {
      EXPECT_EQ(emulator::had_context(gpu), std::find(wanted.begin(), wanted.end(), gpu) != wanted.end())
          << device << ": GPU " << gpu;
    }
    EXPECT_EQ(emulator::thread_context(), nullptr) << device;
  };
  emulator::Options options = with_gpus(3);
  options.names = {"Fast", "Other", "Fast"};
  const std::pair<const char*, std::vector<int>> cases[] = {
      {"cuda:1", {1}}, {"cuda:2", {2}}, {"auto", {0}}, {"cuda", {0, 2}}, {"cpu", {}}};
  for (const auto& [device, wanted] : cases) {
    emulator::reset(options);
    {
      const auto backend = make(device);
      pairs_.logits(*backend);
      states_of_first(*backend);
      expect_only(wanted, device);
      // On a thread that never chose a device.
      std::thread([&, &used = wanted, name = std::string(device)] {
        pairs_.logits(*backend);
        expect_only(used, name);
      }).join();
    }
    expect_only(wanted, device);
  }
  // And where it fails.
  emulator::reset(options);
  emulator::fail("cudaMalloc", 3, unknown_error("cudaMalloc"));
  EXPECT_NE(device_error([&] { make("cuda:1"); }), "");
  expect_only({1}, "cuda:1");
  emulator::reset(options);
  EXPECT_NE(device_error([&] { make("cuda:3"); }), "");
  expect_only({}, "cuda:3");
  emulator::reset(options);
  const auto backend = make("cuda:1");
  emulator::lose_device(1);
  EXPECT_NE(device_error([&] { pairs_.logits(*backend); }), "");
  emulator::restore_device(1);
  pairs_.logits(*backend);
  expect_only({1}, "cuda:1 after it failed");
}

TEST_F(CudaFailures, TheListOfGpusClosesTheContextsThatItOpens) {
  emulator::reset(with_gpus(3));
  const auto backend = make("cuda:1");
  const std::vector<float> truth = pairs_.logits(*backend);
  const Host host(2);
  EXPECT_EQ(list_devices().size(), 4U);
  for (const int gpu : {0, 2}) {
    EXPECT_TRUE(emulator::had_context(gpu)) << "its free memory is listed";
    EXPECT_FALSE(emulator::has_context(gpu));
  }
  EXPECT_TRUE(emulator::has_context(1)) << "a backend works in it";
  EXPECT_EQ(pairs_.logits(*backend), truth);
  const auto calls = [] {
    emulator::clear_calls();
    list_devices();
    return emulator::calls();
  }();
  for (const auto& [call, count] : calls) {
    for (std::uint64_t nth = 1; nth <= count; ++nth) {
      emulator::fail(call, nth, unknown_error(call));
      EXPECT_EQ(device_error([] { list_devices(); }), "") << call << " number " << nth;
    }
  }
  EXPECT_FALSE(emulator::calls()["cudaMalloc"] > 0);
}

TEST_F(CudaFailures, AHostsOwnContextStaysTheCurrentOne) {
  for (const int device : {0, 1}) {
    emulator::reset(with_gpus(2));
    const Host host(device);
    auto backend = make("cuda:0");
    const std::vector<float> truth = pairs_.logits(*backend);
    states_of_first(*backend);
    EXPECT_GT(measured_peak(backend->info()).best, 0);
    EXPECT_FALSE(emulator::had_context(1));
    emulator::lose_device(0);
    EXPECT_NE(device_error([&] { pairs_.logits(*backend); }), "");
    emulator::restore_device(0);
    EXPECT_EQ(pairs_.logits(*backend), truth);
    // Others may use it where another context is current, and let go of it.
    std::thread([&, other = 1 - device] {
      const Host second(other);
      EXPECT_EQ(pairs_.logits(*backend), truth);
      backend.reset();
    }).join();
    expect_nothing_alive();
  }
}

TEST_F(CudaFailures, AGpuThatItsHostHasResetIsOpenedAgain) {
  const auto backend = make();
  const std::vector<float> truth = pairs_.logits(*backend);
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(pairs_.logits(*make()), truth);
}

TEST_F(CudaFailures, AtAnyCallOfASearchAreErrorsAndTheNextSearchIsAnswered) {
  expect_failures_told([&] { return make(); }, [&](const Backend& backend) { return pairs_.logits(backend); }, 20);
}

TEST_F(CudaFailures, AtAnyCallOfAMixEncodersSearchAreErrorsAndTheNextSearchIsAnswered) {
  model_.make_mix_encoder(Derivation::Kind::codes, 2, {0, 1}, Pooling::last, Pooling::mean);
  const MixInputs inputs(model_, 5, {3, 20});
  const auto search = [&](const Backend& backend) { return inputs.scores(backend, 0, 2); };
  expect_failures_told([&] { return make(); }, search, 4);
}

TEST_F(CudaFailures, AtAnyCallOfASearchForDocumentsAreErrorsAndTheNextSearchIsAnswered) {
  model_.make_exchanges();
  const PassageInputs inputs(model_, 3, {{3, 40}, {20}});
  expect_failures_told([&] { return make(); }, [&](const Backend& backend) { return inputs.scores(backend); }, 4);
}

TEST_F(CudaFailures, ThatStickAreToldEachTimeUntilTheDeviceIsBack) {
  const auto backend = make();
  const std::vector<float> truth = pairs_.logits(*backend);
  emulator::lose_device(0);
  for (int search = 0; search < 3; ++search) {
    EXPECT_NE(device_error([&] { pairs_.logits(*backend); }).find("cuda:0"), std::string::npos) << search;
  }
  emulator::restore_device(0);
  EXPECT_EQ(pairs_.logits(*backend), truth);
}

TEST_F(CudaFailures, OfMemoryEndInAnErrorOrInSmallerPiecesWithTheSameBits) {
  pairs_ = random_pairs(model_, 9, std::vector<std::size_t>(50, 40));
  const std::vector<float> truth = pairs_.logits(*make());
  std::size_t refused = 0, split = 0;
  for (std::size_t bytes = kMegabyte / 32; bytes <= 4 * kMegabyte; bytes += bytes / 2) {
    emulator::reset(with_memory(bytes));
    const std::string what = device_error([&] {
      const auto backend = make();
      emulator::clear_calls();
      EXPECT_EQ(pairs_.logits(*backend), truth) << bytes;
      if (emulator::calls()["cudaMemcpyAsync"] > 2) ++split;  // tables in, logits out, per chunk
    });
    if (what.empty()) continue;
    ++refused;
    EXPECT_NE(what.find("memory"), std::string::npos) << what;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(split, 0U);
  emulator::reset(with_memory(8 * kMegabyte));
}

// The passages of a document stay together, whatever room a workspace has.
TEST_F(CudaFailures, OfMemoryForALongDocumentEndInAnErrorOrTheSameBits) {
  model_.make_exchanges();
  const PassageInputs inputs(model_, 3, {{20}, std::vector<std::size_t>(8, 100)});
  const std::vector<float> truth = inputs.scores(*make());
  std::size_t refused = 0, enlarged = 0;
  for (std::size_t bytes = kMegabyte / 4; bytes <= 4 * kMegabyte; bytes += bytes / 2) {
    emulator::reset(with_memory(bytes));
    std::unique_ptr<Backend> backend;
    if (!device_error([&] { backend = make(); }).empty()) continue;
    emulator::clear_calls();
    const std::string what = device_error([&] { EXPECT_EQ(inputs.scores(*backend), truth) << bytes; });
    if (what.empty()) {
      if (emulator::calls()["cudaMalloc"] > 0) ++enlarged;
      continue;
    }
    ++refused;
    EXPECT_NE(what.find("memory"), std::string::npos) << what;
    // Concurrent callers get one answer each.
    std::vector<std::thread> callers;
    for (const std::size_t document : {0, 1, 0, 1}) {
      callers.emplace_back([&, document] {
        const auto score = [&] { EXPECT_EQ(inputs.scores(*backend, document, 1).front(), truth[document]) << bytes; };
        const std::string other = device_error(score);
        EXPECT_TRUE(other.empty() || other.find("memory") != std::string::npos) << other;
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(inputs.scores(*backend, 0, 1).front(), truth[0]) << bytes;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(enlarged, 0U);
  emulator::reset(with_memory(8 * kMegabyte));
}

TEST_F(CudaFailures, TheNextChunkIsStartedBeforeTheLastOneIsWaitedFor) {
  pairs_ = random_pairs(model_, 9, std::vector<std::size_t>(50, 40));
  emulator::reset(with_memory(kMegabyte));
  const auto backend = make();
  emulator::clear_calls();
  const std::vector<float> truth = pairs_.logits(*backend);
  EXPECT_GT(emulator::calls()["cudaMemcpyAsync"], 4U) << "too few chunks: each copies tables in and logits out";
  EXPECT_EQ(emulator::calls()["cudaStreamSynchronize"] + emulator::calls()["cudaEventSynchronize"], 0U)
      << "these keep the waiting thread's core busy";
  emulator::clear_calls();
  emulator::fail("cudaEventQuery", 1, unknown_error("cudaEventQuery"));  // the first wait
  EXPECT_NE(device_error([&] { pairs_.logits(*backend); }), "");
  EXPECT_EQ(emulator::calls()["cudaMemcpyAsync"], 4U);
  EXPECT_EQ(pairs_.logits(*backend), truth);
}

TEST_F(CudaFailures, ASearchThatIsStoppedStartsNoMoreChunks) {
  pairs_ = random_pairs(model_, 9, std::vector<std::size_t>(200, 40));
  emulator::reset(with_memory(kMegabyte));
  const auto backend = make();
  emulator::clear_calls();
  const std::vector<float> truth = pairs_.logits(*backend);
  const std::uint64_t copies = emulator::calls()["cudaMemcpyAsync"];
  emulator::clear_calls();
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
  expect_error(ErrorKind::deadline, [&] { pairs_.logits(*backend, stop); });
  EXPECT_LT(emulator::calls()["cudaMemcpyAsync"], copies / 2);

  emulator::clear_calls();
  std::stop_source source;
  stop = {std::nullopt, source.get_token()};
  std::thread other([&] {  // once the first chunk's tables are on their way
    while (emulator::calls()["cudaMemcpyAsync"] == 0) std::this_thread::yield();
    source.request_stop();
  });
  expect_error(ErrorKind::interrupted, [&] { pairs_.logits(*backend, stop); });
  other.join();
  EXPECT_LT(emulator::calls()["cudaMemcpyAsync"], copies / 2);
  EXPECT_EQ(pairs_.logits(*backend), truth);
}

TEST_F(CudaFailures, AMixEncoderThatIsStoppedStartsNoMoreChunks) {
  model_.make_mix_encoder(Derivation::Kind::first_tokens, 2, {1}, Pooling::mean, Pooling::mean);
  const MixInputs inputs(model_, 5, std::vector<std::size_t>(100, 40));
  emulator::reset(with_memory(kMegabyte));
  const auto backend = make();
  emulator::clear_calls();
  const std::vector<float> states = inputs.encoded(*backend, 0, inputs.count());
  const std::uint64_t copies = emulator::calls()["cudaMemcpyAsync"];
  EXPECT_GT(copies, 8U) << "too few chunks: each copies tables in and contexts out";
  emulator::clear_calls();
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
  expect_error(ErrorKind::deadline, [&] { inputs.encoded(*backend, 0, inputs.count(), stop); });
  EXPECT_LT(emulator::calls()["cudaMemcpyAsync"], copies / 2);
  // With stored states, only the query and the interaction are left to compute.
  const std::vector<float> scores = inputs.scores(*backend, 0, inputs.count());
  emulator::clear_calls();
  EXPECT_EQ(inputs.scores(*backend, 0, inputs.count(), states), scores);
  const std::uint64_t all = emulator::calls()["cudaMemcpyAsync"];
  emulator::clear_calls();
  std::stop_source source;
  stop = {std::nullopt, source.get_token()};
  std::thread other([&] {  // once a product has been started
    while (emulator::calls()["cublasLtMatmul"] == 0) std::this_thread::yield();
    source.request_stop();
  });
  expect_error(ErrorKind::interrupted, [&] { inputs.scores(*backend, 0, inputs.count(), states, stop); });
  other.join();
  EXPECT_LT(emulator::calls()["cudaMemcpyAsync"], all);
}

// The emulator proposes algorithm 1, which adds in another order than 0 and 2, for few rows, and 0 alone for many.
TEST_F(CudaFailures, OnlyAlgorithmsThatGiveTheSameBitsServeOneFormOfProduct) {
  const auto line_of = [](const Backend& backend, const std::string& form) -> std::string {
    for (const std::string& line : backend.info().products) {
      if (line.starts_with(form)) return line;
    }
    return "";
  };
  const std::string two = "algorithm 2 tile 0 stages 0 cluster 0", zero = "algorithm 0 tile 0 stages 0 cluster 0";
  EXPECT_EQ(line_of(*make(), "32 -> 96, bias:"), "32 -> 96, bias: up to 2048 rows " + two + ", else " + zero);
  EXPECT_EQ(line_of(*make(), "16 -> 32, 2 at once:"),
            "16 -> 32, 2 at once: always algorithm 1 tile 0 stages 0 cluster 0");
  // Where there is no room for a trial: the first allocation is that of the weights. The next backend tries again.
  constexpr int out_of_memory = 2;
  emulator::reset(with_memory(8 * kMegabyte));
  emulator::fail("cudaMalloc", 2, out_of_memory);
  EXPECT_EQ(line_of(*make(), "32 -> 96, bias:"), "32 -> 96, bias: always " + zero);
  EXPECT_EQ(line_of(*make(), "32 -> 96, bias:"), "32 -> 96, bias: up to 2048 rows " + two + ", else " + zero);
}

TEST_F(CudaFailures, AnotherBackendOnTheSameGpuTriesNoAlgorithms) {
  const std::vector<float> truth = pairs_.logits(*make());
  const auto tried = [&] {
    emulator::clear_calls();
    const auto backend = make();
    const std::uint64_t products = emulator::calls()["cublasLtMatmul"];
    EXPECT_EQ(pairs_.logits(*backend), truth);
    return products;
  };
  const std::uint64_t known = tried();  // the products of its first run
  emulator::Options same_gpu = with_memory(8 * kMegabyte);
  same_gpu.same_gpus = true;
  emulator::reset(same_gpu);
  EXPECT_EQ(tried(), known);
  emulator::reset(with_memory(8 * kMegabyte));
  EXPECT_GT(tried(), known + 20);
}

TEST_F(CudaFailures, BackendsThatDifferInTheirPatternShareWeights) {
  RandomModel model({.hidden = 64, .heads = 2, .intermediate = 4096, .layers = 2}, sparse());
  const auto made = [&](Precision precision = Precision::automatic) {
    return model.on({parse_device("cuda:0"), precision, 1, ""});
  };
  emulator::reset(with_memory(64 * kMegabyte));
  const auto one = made();
  const std::size_t alone = emulator::live_allocations(), of_one = emulator::live_bytes(0);
  const Pairs pairs = random_pairs(model, 5, {3, 20, 70});
  const std::vector<float> of_sparse = pairs.logits(*one);
  model.set_pattern({});
  auto other = made();
  const std::vector<float> of_full = pairs.logits(*other);
  EXPECT_NE(of_full, of_sparse);
  EXPECT_EQ(emulator::live_allocations(), 2 * alone - 1);
  constexpr std::size_t weights = std::size_t{2} * 2 * 64 * 4096 * 2;  // of the feed-forwards, in fp16
  EXPECT_LT(emulator::live_bytes(0), 2 * of_one - weights);
  [[maybe_unused]] const auto in_fp32 = made(Precision::fp32);
  EXPECT_EQ(emulator::live_allocations(), 3 * alone - 1) << "another precision has other weights";
  // A device that has failed may have lost them: the next search copies them once more, and both keep their results.
  emulator::fail("cudaMemcpyAsync");
  EXPECT_NE(device_error([&] { pairs.logits(*other); }), "");
  EXPECT_EQ(pairs.logits(*other), of_full);
  EXPECT_EQ(emulator::live_allocations(), 3 * alone);
  EXPECT_EQ(pairs.logits(*one), of_sparse);
  other.reset();
  EXPECT_EQ(pairs.logits(*one), of_sparse);
}

TEST_F(CudaFailures, MemoryThatIsShortIsToldWithWhatIsFree) {
  emulator::reset(with_memory(kMegabyte / 16));
  const std::string what = device_error([&] { make(); });
  EXPECT_NE(what.find("allocating 1 MB for activations, with 1 of 1 MB free, failed: out of memory"), std::string::npos)
      << what;
}

TEST_F(CudaFailures, OnAGpuFromHopperOnProductsHaveAWorkspace) {
  const std::vector<float> truth = pairs_.logits(*make());
  emulator::Options options = with_memory(512 * kMegabyte);
  options.major = 9;
  emulator::reset(options);
  const auto backend = make();
  EXPECT_GT(emulator::live_bytes(0), 32 * kMegabyte);
  EXPECT_EQ(pairs_.logits(*backend), truth);
  // Algorithm 3, which the emulator proposes first where there is a workspace, has other bits for many rows.
  EXPECT_FALSE(backend->info().products.empty());
  for (const std::string& line : backend->info().products) {
    EXPECT_EQ(line.find("algorithm 3"), std::string::npos) << line;
  }
}

TEST_F(CudaFailures, SearchesAtOnceShareTheMemoryThereIs) {
  const std::vector<float> truth = pairs_.logits(*make());
  const auto peak = [&] {
    const auto backend = make();
    return emulator::live_bytes(0);
  }();
  emulator::reset(with_memory(peak + peak / 4));  // not enough for a second search's workspace
  const auto backend = make();
  std::vector<std::thread> callers;
  std::vector<int> different(4, 0);
  for (int& count : different) {
    callers.emplace_back([&] {
      for (int round = 0; round < 10; ++round) count += pairs_.logits(*backend) != truth ? 1 : 0;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(different, std::vector<int>(4, 0));
}

TEST_F(CudaFailures, OfOneGpuAreAnsweredByTheOther) {
  emulator::Options two = with_memory(8 * kMegabyte);
  two.devices = 2;
  emulator::reset(two);
  const auto backend = make("cuda");
  EXPECT_EQ(backend->info().device, "cuda:0,1");
  const std::vector<float> truth = pairs_.logits(*backend);
  for (const int lost : {0, 1}) {
    emulator::lose_device(lost);
    EXPECT_EQ(pairs_.logits(*backend), truth) << "without cuda:" << lost;
    emulator::restore_device(lost);
  }
  emulator::lose_device(0);
  emulator::lose_device(1);
  EXPECT_NE(device_error([&] { pairs_.logits(*backend); }), "");
  emulator::restore_device(0);
  emulator::restore_device(1);
  EXPECT_EQ(pairs_.logits(*backend), truth);
  EXPECT_EQ(make("cuda:1")->info().device, "cuda:1");
}

TEST_F(CudaFailures, IdleGpusShareALargeSearchOut) {
  emulator::Options two = with_memory(512 * kMegabyte);
  two.devices = 2;
  emulator::reset(two);
  RandomModel model({.hidden = 32, .heads = 2, .intermediate = 32, .layers = 1, .positions = 430});
  std::vector<std::size_t> lengths(24);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = 300 + i * 5;  // 8,580 tokens
  const Pairs large = random_pairs(model, 5, lengths), small = random_pairs(model, 5, {300, 350});
  const auto one = model.on({Device::cuda(0), Precision::fp32, 1, ""}),
             both = model.on({Device::every_gpu(), Precision::fp32, 1, ""});
  const auto launches = [&](const Pairs& pairs, const Backend& backend) {
    emulator::clear_calls();
    pairs.logits(backend);
    return emulator::calls().at("cudaLaunchKernel");
  };
  const std::vector<float> truth = large.logits(*one);
  EXPECT_EQ(large.logits(*both), truth);
  EXPECT_EQ(launches(large, *both), 2 * launches(large, *one));
  EXPECT_EQ(launches(small, *both), launches(small, *one));
  // If one of them is lost, the other computes both parts.
  for (const int lost : {0, 1}) {
    emulator::lose_device(lost);
    EXPECT_EQ(large.logits(*both), truth) << "without cuda:" << lost;
    emulator::restore_device(lost);
  }
}

TEST_F(CudaFailures, AGpuThatCannotBeSetUpIsLeftOut) {
  emulator::Options two = with_memory(8 * kMegabyte);
  two.devices = 2;
  emulator::reset(two);
  emulator::fail("cudaMalloc", 1, unknown_error("cudaMalloc"));
  const auto backend = make("cuda");
  EXPECT_EQ(backend->info().device, "cuda:1");
  EXPECT_EQ(pairs_.logits(*backend).size(), pairs_.documents.size());
}

TEST_F(CudaFailures, ActivationsBeyondFp16AreUnsupportedAndNoFailureOfTheDevice) {
  emulator::Options two = with_memory(32 * kMegabyte);
  two.devices = 2;
  emulator::reset(two);
  RandomModel model({.hidden = 128, .heads = 4, .intermediate = 128, .layers = 2});
  const std::vector<float> large(128, 60'000);
  for (LayerWeights& layer : model.layer_weights()) {
    layer.feed_forward.out.bias.data = reinterpret_cast<const std::byte*>(large.data());
    layer.feed_forward.in.bias.data = reinterpret_cast<const std::byte*>(large.data());
  }
  const Pairs pairs = random_pairs(model, 3, {4, 5});
  const auto fp16 = model.on({Device::cuda(0), Precision::fp16, 1, ""}),
             bf16 = model.on({Device::cuda(0), Precision::bf16, 1, ""});
  const auto launches = [&](const Backend& backend) {
    emulator::clear_calls();
    try {
      pairs.logits(backend);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
      EXPECT_NE(std::string(error.what()).find("bf16"), std::string::npos) << error.what();
    }
    return emulator::calls().at("cudaLaunchKernel");
  };
  // Another GPU would not give anything else.
  EXPECT_EQ(launches(*model.on({Device::every_gpu(), Precision::fp16, 1, ""})), launches(*fp16)) << "asked twice";
  for (const float logit : pairs.logits(*bf16)) EXPECT_TRUE(std::isfinite(logit));
}

TEST_F(CudaFailures, OnlyGpusOfOneKindWorkTogether) {
  emulator::Options mixed = with_memory(8 * kMegabyte);
  mixed.devices = 3;
  mixed.names = {"Fast", "Other", "Fast"};
  emulator::reset(mixed);
  EXPECT_EQ(make("cuda")->info().device, "cuda:0,2");
  EXPECT_EQ(make("cuda")->info().device_name, "Fast");
}

TEST_F(CudaFailures, NoDriverNoGpuAndOldOnesAreNamed) {
  const auto error_with = [&](const emulator::Options& options) {
    emulator::reset(options);
    return device_error([&] { make(); });
  };
  emulator::Options options = with_memory(8 * kMegabyte);
  options.driver = 0;
  EXPECT_NE(error_with(options).find("driver"), std::string::npos);
  options.driver = 11080;
  EXPECT_NE(error_with(options).find("11.8"), std::string::npos);
  options = with_memory(8 * kMegabyte);
  options.devices = 0;
  EXPECT_NE(error_with(options).find("no GPU"), std::string::npos);
  options = with_memory(8 * kMegabyte);
  options.major = 7, options.minor = 5;
  const std::string old = error_with(options);
  EXPECT_NE(old.find("7.5"), std::string::npos) << old;
  EXPECT_NE(old.find("8.0"), std::string::npos) << old;
  emulator::reset(with_memory(8 * kMegabyte));
  EXPECT_NE(device_error([&] { make("cuda:3"); }).find("cuda:3"), std::string::npos);
}

TEST_F(CudaFailures, ModulesThatDoNotFitTheGpuAreErrorsThatSayWhatToDo) {
  emulator::Options options = with_memory(8 * kMegabyte);
  options.driver = 13000;
  for (const auto& [error, words] : {std::pair{cudaErrorUnsupportedPtxVersion, "PTX of CUDA 13.0"},
                                     std::pair{cudaErrorNoKernelImageForDevice, "no code for this GPU"}}) {
    emulator::reset(options);
    emulator::fail("cudaLaunchKernel", 1, error);
    const std::string what = device_error([&] { make(); });
    EXPECT_NE(what.find(words), std::string::npos) << what;
    EXPECT_NE(what.find("CMAKE_CUDA_ARCHITECTURES"), std::string::npos) << what;
    EXPECT_EQ(what.find("newer driver") != std::string::npos, error == cudaErrorUnsupportedPtxVersion) << what;
  }
}

TEST_F(CudaFailures, WhileThePeakIsMeasuredAreErrors) {
  const BackendInfo info = make()->info();
  const emulator::Options small = with_memory(kMegabyte / 2);  // so that the product is
  emulator::reset(small);
  EXPECT_GT(measured_peak(info).best, 0);
  for (const auto& [call, count] : emulator::calls()) {
    for (const std::uint64_t nth : sites_of(count)) {
      emulator::fail(call, nth, unknown_error(call));
      const std::string what = device_error([&] { measured_peak(info); });
      // It also asks where an allocation has failed, to tell how much is free.
      const bool asks_what_is_free = call == "cudaMemGetInfo" && nth > 1;
      EXPECT_TRUE(!what.empty() || may_fail_unseen(call) || call == "cublasLtMatmulAlgoCheck" || asks_what_is_free)
          << call << ' ' << nth;
      emulator::reset(small);
    }
  }
}

TEST_F(CudaFailures, WhileAttentionIsTimedAreErrors) {
  const BackendInfo info = make()->info();
  const AttentionShape shape{.sequences = 3, .tokens = 70, .heads = 2, .head_size = 16, .window = 4};
  emulator::reset({});
  EXPECT_EQ(time_attention(info, shape, 2).size(), 2U);
  for (const auto& [call, count] : emulator::calls()) {
    for (const std::uint64_t nth : sites_of(count)) {
      emulator::fail(call, nth, unknown_error(call));
      const std::string what = device_error([&] { time_attention(info, shape, 2); });
      EXPECT_TRUE(!what.empty() || may_fail_unseen(call)) << call << ' ' << nth;
      emulator::reset({});
    }
  }
  for (const AttentionShape& large : {AttentionShape{.tokens = 1 << 17, .heads = 2, .head_size = 16},
                                      AttentionShape{.tokens = 7, .heads = 2, .head_size = 12}}) {
    expect_error(ErrorKind::unsupported, "multiple of 8", [&] { time_attention(info, large, 1); });
  }
}

TEST_F(CudaFailures, WhatItCannotRunIsRefusedByName) {
  const auto refusal = [](const RandomModel& model, Precision precision) -> std::string {
    try {
      model.on({Device::cuda(0), precision, 1, ""});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal(RandomModel({.hidden = 30, .heads = 3}), Precision::automatic).find("30"), std::string::npos);
  EXPECT_NE(refusal(RandomModel({.hidden = 40, .heads = 2}), Precision::automatic).find("20"), std::string::npos);
  EXPECT_NE(refusal(RandomModel({.hidden = 272, .heads = 2}), Precision::automatic).find("136"), std::string::npos);
  EXPECT_NE(refusal(model_, Precision::int8).find("int8"), std::string::npos);

  RandomModel scaled({});
  ASSERT_FALSE(scaled.description.head.steps.empty());
  scaled.description.head.scale = 0.5;
  const std::string scale = refusal(scaled, Precision::automatic);
  EXPECT_NE(scale.find("CUDA backend"), std::string::npos) << scale;
  EXPECT_NE(scale.find("a scale in the head with steps after it"), std::string::npos) << scale;
  EXPECT_NE(scale.find("use device = \"cpu\""), std::string::npos) << scale;

  emulator::reset(with_memory(256 * kMegabyte));  // room for the longest input
  RandomModel unbounded({});
  unbounded.description.max_positions = 0;
  const auto backend = unbounded.on({Device::cuda(0), Precision::fp16, 1, ""});
  expect_error(ErrorKind::unsupported, {"length", "8193", "8192"},
               [&] { random_pairs(unbounded, 1, {8191}).logits(*backend); });

  const auto chosen = RandomModel({.hidden = 30, .heads = 3}).on({Device::automatic(), Precision::automatic, 1, ""});
  EXPECT_EQ(chosen->info().device, "cpu");
  EXPECT_NE(chosen->info().why_no_gpu.find("30"), std::string::npos) << chosen->info().why_no_gpu;

  RandomModel wide({});
  const std::vector<float> huge(64, 1e6F);
  wide.layer_weights()[1].feed_forward.out.bias.data = reinterpret_cast<const std::byte*>(huge.data());
  EXPECT_NE(refusal(wide, Precision::fp16).find("layer 1 output bias"), std::string::npos);
  EXPECT_EQ(refusal(wide, Precision::bf16), "");
}

}  // namespace
}  // namespace relucent::testing
