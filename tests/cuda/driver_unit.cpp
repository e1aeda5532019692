// Every function that kernels/cuda looks for by name in the CUDA driver is there, in the version that it asks for, with
// the type that cuda.h declares.
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>

#include "kernels/cuda/driver.h"

namespace {

/// The versions that driver() asked for, by name.
std::map<std::string, unsigned>& asked() {
  static std::map<std::string, unsigned> all;
  return all;
}

}  // namespace

// In place of the runtime's function (--wrap) while driver() looks: machines that only build have no driver to look in.
namespace {
bool noting = false;

cudaError_t note(const char* name, void** function, unsigned version, cudaDriverEntryPointQueryResult* result) {
  asked()[name] = version;
  *function = reinterpret_cast<void*>(&asked);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
}  // namespace

#if CUDART_VERSION >= 12050
extern "C" cudaError_t __real_cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                                               cudaDriverEntryPointQueryResult*);
extern "C" cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                               unsigned long long flags,
                                                               cudaDriverEntryPointQueryResult* result) {
  return noting ? note(name, function, version, result)
                : __real_cudaGetDriverEntryPointByVersion(name, function, version, flags, result);
}
#else
extern "C" cudaError_t __wrap_cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                                      cudaDriverEntryPointQueryResult* result) {
  return note(name, function, CUDART_VERSION, result);
}
#endif

namespace relucent::cuda {
namespace {

/// What cuda.h's name of a function stands for, and the version of CUDA that gave it this type.
struct Function {
  const char* symbol;
  unsigned since;
};

#define RELUCENT_TEXT(text) #text
#define RELUCENT_SYMBOL(name) RELUCENT_TEXT(name)

template <typename Member, typename Declared, unsigned version>
constexpr unsigned same_type() {
  static_assert(std::is_same_v<Member, Declared>);
  return version;
}

TEST(CudaDriverLibrary, HasEveryFunctionThatIsLookedFor) {
  // The types of cudaTypedefs.h, which names the version of each.
  const std::map<std::string, Function> functions = {
      {"cuDeviceGet",
       {RELUCENT_SYMBOL(cuDeviceGet), same_type<decltype(Driver::get_device), PFN_cuDeviceGet_v2000, 2000>()}},
      {"cuDevicePrimaryCtxGetState",
       {RELUCENT_SYMBOL(cuDevicePrimaryCtxGetState),
        same_type<decltype(Driver::state_of_primary), PFN_cuDevicePrimaryCtxGetState_v7000, 7000>()}},
      {"cuDevicePrimaryCtxRetain",
       {RELUCENT_SYMBOL(cuDevicePrimaryCtxRetain),
        same_type<decltype(Driver::retain_primary), PFN_cuDevicePrimaryCtxRetain_v7000, 7000>()}},
      {"cuDevicePrimaryCtxRelease",
       {RELUCENT_SYMBOL(cuDevicePrimaryCtxRelease),
        same_type<decltype(Driver::release_primary), PFN_cuDevicePrimaryCtxRelease_v11000, 11000>()}},
      {"cuCtxPushCurrent",
       {RELUCENT_SYMBOL(cuCtxPushCurrent), same_type<decltype(Driver::push), PFN_cuCtxPushCurrent_v4000, 4000>()}},
      {"cuCtxPopCurrent",
       {RELUCENT_SYMBOL(cuCtxPopCurrent), same_type<decltype(Driver::pop), PFN_cuCtxPopCurrent_v4000, 4000>()}},
      {"cuCtxGetCurrent",
       {RELUCENT_SYMBOL(cuCtxGetCurrent), same_type<decltype(Driver::get_current), PFN_cuCtxGetCurrent_v4000, 4000>()}},
      {"cuCtxSetCurrent",
       {RELUCENT_SYMBOL(cuCtxSetCurrent), same_type<decltype(Driver::set_current), PFN_cuCtxSetCurrent_v4000, 4000>()}},
      {"cuMemGetInfo",
       {RELUCENT_SYMBOL(cuMemGetInfo), same_type<decltype(Driver::memory), PFN_cuMemGetInfo_v3020, 3020>()}},
  };
  // The machine's driver, or the toolkit's stub of it, which has the same symbols; the stub where the runtime, which
  // would take it for a driver, does not find it.
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) library = ::dlmopen(LM_ID_NEWLM, RELUCENT_CUDA_STUB, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << "neither libcuda.so.1 nor the toolkit's stub of it: install the toolkit's driver "
                                 "development files; "
                              << ::dlerror();

  noting = true;
  driver(0);
  noting = false;
  EXPECT_EQ(asked().size(), functions.size());
  for (const auto& [name, version] : asked()) {
    const auto found = functions.find(name);
    ASSERT_NE(found, functions.end()) << name << " is looked for, but this test does not know its type";
    EXPECT_NE(::dlsym(library, found->second.symbol), nullptr) << found->second.symbol;
    EXPECT_LE(found->second.since, version) << name << ": an older driver's function has another type";
  }
}

// The module itself: every library that it names has every symbol that it uses.
TEST(CudaDriverLibrary, TheModuleIsLoadedWithAllItsSymbols) {
  void* const module = ::dlopen(RELUCENT_CUDA_MODULE_BUILT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << ::dlerror();
  EXPECT_NE(::dlsym(module, "relucent_cuda_module"), nullptr) << ::dlerror();
}

}  // namespace
}  // namespace relucent::cuda
