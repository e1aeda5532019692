#include "kernels/cuda_module.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "base/file/own_file.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "librelucent_cuda.so";
constexpr const char* kVariable = "RELUCENT_CUDA_MODULE";
constexpr const char* kSymbol = "relucent_cuda_module";
constexpr std::string_view kPrefix = "cuda:";
constexpr const char* kReport = "please report it; until then use device = \"cpu\"";
constexpr const char* kUseTheCpu = "use device = \"cpu\" or \"auto\"";

[[noreturn]] void refuse(std::string_view place, const std::string& problem, const std::string& remedy) {
  throw Error(ErrorKind::device, place, problem, remedy);
}

/// The file for dlopen: an existing file, or the bare name for the dynamic linker to search.
fs::path find_file() {
  std::error_code error;
  if (const char* stated = std::getenv(kVariable); stated != nullptr && *stated != '\0') {
    if (std::strcmp(stated, "none") == 0) {
      refuse(kFile, fmt::format("is disabled by {}=none", kVariable), "unset it to use this machine's GPUs");
    }
    if (fs::is_regular_file(stated, error)) return fs::absolute(stated, error);
    refuse(stated, fmt::format("the environment variable {} does not name a file", kVariable),
           "set it to the path of a librelucent_cuda.so, or unset it");
  }
  const fs::path folder = own_file().parent_path();
  for (const char* place : {".", "../lib", "../" RELUCENT_LIBDIR}) {
    const fs::path file = folder / place / kFile;
    if (fs::is_regular_file(file, error)) return fs::canonical(file, error);
  }
  return kFile;
}

// Users install the CUDA libraries that the module needs.
std::string remedy_for(const std::string& message) {
  if (message.find("libcublas") != std::string::npos || message.find("libcudart") != std::string::npos) {
    return "install the CUDA libraries of the version it was built with (docs/installation.md), or add their directory "
           "to LD_LIBRARY_PATH";
  }
  return "install the library and its CUDA module from the same build";
}

void* open(const fs::path& file) {
  // Never closed again: backends, exceptions and CUDA's own threads outlive every caller.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library != nullptr) return library;
  const char* said = ::dlerror();
  const std::string message = said != nullptr ? said : "unknown reason";
  if (!file.has_parent_path() && message.starts_with(fmt::format("{}: cannot open shared object file", kFile))) {
    refuse(kFile, "is not installed, so this machine's GPUs cannot be used",
           fmt::format("build it with -DRELUCENT_CUDA=on, give its path in {}, or {}", kVariable, kUseTheCpu));
  }
  refuse(file.string(), "cannot be loaded: " + message, remedy_for(message));
}

const Module& load(const fs::path& file) {
  void* library = open(file);
  const auto entry = reinterpret_cast<decltype(&relucent_cuda_module)>(::dlsym(library, kSymbol));
  if (entry == nullptr) {
    refuse(file.string(), fmt::format("is not a CUDA module: it does not export {}", kSymbol),
           fmt::format("set {} to the path of a librelucent_cuda.so", kVariable));
  }
  const Module* found = entry();
  // Check the number first: the rest of the struct is valid only if it matches.
  if (found == nullptr || found->abi != kModuleAbi) {
    refuse(file.string(),
           fmt::format("has the module interface {}, but this library has {}", found == nullptr ? 0 : found->abi,
                       kModuleAbi),
           "install both from the same build");
  }
  if (std::strcmp(found->version, RELUCENT_VERSION) != 0) {
    refuse(file.string(), fmt::format("belongs to Relucent {}, but this library is " RELUCENT_VERSION, found->version),
           "install both from the same build");
  }
  return *found;
}

/// Runs `work` in the module; turns foreign exceptions into Errors.
template <typename Work>
auto in_module(const char* operation, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::device, kFile, fmt::format("{} failed: {}", operation, error.what()), kReport);
  } catch (...) {
    throw Error(ErrorKind::device, kFile, fmt::format("{} failed with an unknown exception", operation), kReport);
  }
}

/// The N of "cuda:N", the first of "cuda:N,M".
int first_index_of(const BackendInfo& info) {
  return info.device.starts_with(kPrefix) ? std::atoi(info.device.c_str() + kPrefix.size()) : 0;
}

std::string list(const std::vector<DeviceInfo>& devices) {
  std::string text;
  for (const DeviceInfo& device : devices) {
    text += fmt::format("{}cuda:{} ({}{}{})", text.empty() ? "" : ", ", device.index, device.name,
                        device.problem.empty() ? "" : ": ", device.problem);
  }
  return text.empty() ? "no GPU" : text;
}

void require_usable(const Device& wanted) {
  const std::vector<DeviceInfo> all = devices(false);
  const std::string name = to_string(wanted);
  bool usable = false;
  for (const DeviceInfo& device : all) {
    if (wanted.gpu && device.index != *wanted.gpu) continue;
    if (wanted.gpu && !device.problem.empty()) {
      refuse("device " + name, fmt::format("{}: {}", device.name, device.problem), kUseTheCpu);
    }
    usable = usable || device.problem.empty();
  }
  if (usable) return;
  refuse("device " + name,
         fmt::format("{}: this machine has {}", wanted.gpu ? "does not exist" : "no GPU is usable", list(all)),
         fmt::format("use another one, or {}", kUseTheCpu));
}

}  // namespace

const Module& module() {
  static std::mutex mutex;
  static std::map<fs::path, const Module*> loaded;
  const std::lock_guard lock(mutex);
  const fs::path file = find_file();
  const Module*& known = loaded[file];
  if (known == nullptr) known = &load(file);
  return *known;
}

std::vector<DeviceInfo> devices(bool free_memory) {
  return in_module("listing the GPUs", [&] { return module().devices(free_memory); });
}

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options) {
  require_usable(options.device);
  auto backend =
      in_module("creating the CUDA backend", [&] { return module().make_backend(description, weights, options); });
  if (!backend) refuse("device " + to_string(options.device), "the CUDA module returned no backend", kReport);
  return backend;
}

double measure_peak(const BackendInfo& info) {
  const int index = first_index_of(info);
  return in_module("measuring the GPU's peak", [&] { return module().measure_peak(index, info.precision); });
}

std::vector<std::chrono::nanoseconds> time_attention(const BackendInfo& info, const AttentionShape& shape, int runs) {
  const int index = first_index_of(info);
  return in_module("measuring the GPU's attention",
                   [&] { return module().time_attention(index, info.precision, shape, runs); });
}

std::string describe(const DeviceInfo& device) {
  const auto gigabytes = [](std::uint64_t bytes) { return (bytes + 500'000'000) / 1'000'000'000; };
  return fmt::format("{}, compute capability {}.{}, {} GB ({} GB free)", device.name, device.major, device.minor,
                     gigabytes(device.memory_bytes), gigabytes(device.free_bytes));
}

}  // namespace relucent::cuda
