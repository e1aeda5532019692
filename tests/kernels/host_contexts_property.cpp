// On a real GPU: which devices get a context of the CUDA driver, and that a host's own one stays the current one. The
// same on emulated ones, with failures at every call: tests/kernels/cuda_failures_fault.cpp.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "relucent/kernels/devices.h"
#include "tests/support/kernels_support.h"

namespace relucent::testing {
namespace {

// The module is looked for at the first use, after this: the one that a script names, or else this build's.
const bool kChosen = [] {
  const char* const named = std::getenv("RELUCENT_CUDA_MODULE");
  return (named != nullptr && named != std::string_view("none")) ||
         setenv("RELUCENT_CUDA_MODULE", RELUCENT_CUDA_MODULE_BUILT, 1) == 0;
}();

/// The driver's functions, with their types as cuda.h has them.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*create)(void**, unsigned, int) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*get_current)(void**) = nullptr;
  int (*state_of_primary)(int, unsigned*, int*) = nullptr;

  /// The number of GPUs; 0 without a driver. A driver that cannot be used is a failure.
  int gpus() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return 0;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
      EXPECT_NE(function, nullptr) << name;
      return function != nullptr;
    };
    const bool found = find(init, "cuInit") && find(count, "cuDeviceGetCount") && find(create, "cuCtxCreate_v2") &&
                       find(destroy, "cuCtxDestroy_v2") && find(get_current, "cuCtxGetCurrent") &&
                       find(state_of_primary, "cuDevicePrimaryCtxGetState");
    constexpr int no_device = 100;
    const int started = found ? init(0) : no_device;
    if (started == no_device) return 0;
    EXPECT_EQ(started, 0) << "cuInit";
    int number = 0;
    EXPECT_EQ(count(&number), 0);
    return number;
  }
  void* current() const {
    void* context = nullptr;
    EXPECT_EQ(get_current(&context), 0);
    return context;
  }
  bool has_context(int device) const {
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(state_of_primary(device, &flags, &active), 0);
    return active != 0;
  }
};

class HostContexts : public ::testing::Test {
 protected:
  void SetUp() override {
    gpus_ = driver_.gpus();
    if (gpus_ == 0) GTEST_SKIP() << "SKIPPED: there is no GPU";
  }
  std::unique_ptr<Backend> make(const std::string& device) const {
    return model_.on({parse_device(device), Precision::automatic, 1, ""});
  }

  Driver driver_;
  int gpus_ = 0;
  RandomModel model_{{.hidden = 64, .heads = 2, .intermediate = 128, .layers = 2}};
  Pairs pairs_ = random_pairs(model_, 5, {3, 20, 70});
};

// The first test of this program: contexts of backends stay open.
TEST_F(HostContexts, OnlyTheGpuThatIsUsedGetsOne) {
  const int used = gpus_ - 1;  // with several GPUs not the first, which the runtime would open by itself
  for (int gpu = 0; gpu < gpus_; ++gpu) EXPECT_FALSE(driver_.has_context(gpu)) << gpu;
  std::thread([&] {
    const auto backend = make("cuda:" + std::to_string(used));
    pairs_.logits(*backend);
    EXPECT_EQ(driver_.current(), nullptr);
  }).join();
  for (int gpu = 0; gpu < gpus_; ++gpu) EXPECT_EQ(driver_.has_context(gpu), gpu == used) << gpu;
}

TEST_F(HostContexts, AHostsOwnStaysTheCurrentOne) {
  void* own = nullptr;
  ASSERT_EQ(driver_.create(&own, 0, 0), 0);
  {
    auto backend = make("cuda:0");
    EXPECT_EQ(driver_.current(), own) << "after making the backend";
    const std::vector<float> truth = pairs_.logits(*backend);
    EXPECT_EQ(driver_.current(), own) << "after a search";
    EXPECT_FALSE(list_devices().empty());
    EXPECT_EQ(driver_.current(), own) << "after listing the devices";
    EXPECT_EQ(pairs_.logits(*backend), truth);
    std::thread([&] {
      EXPECT_EQ(pairs_.logits(*backend), truth);
      backend.reset();
      EXPECT_EQ(driver_.current(), nullptr) << "on a thread without one";
    }).join();
    EXPECT_EQ(pairs_.logits(*make("cuda:0")), truth);
    EXPECT_EQ(driver_.current(), own) << "after letting go of a backend";
  }
  EXPECT_EQ(driver_.destroy(own), 0);
  EXPECT_EQ(driver_.current(), nullptr) << "something was left on the thread's stack";
}

}  // namespace
}  // namespace relucent::testing
