#include "relucent/kernels/backend.h"

#include <fmt/core.h>

#include "kernels/backends.h"
#include "kernels/checks.h"
#include "kernels/cuda_module.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"
#include "relucent/threads.h"

namespace relucent {
namespace {

/// The first working GPU that can run this encoder in this precision, else the CPU, with the reason in its BackendInfo.
std::unique_ptr<Backend> make_best_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                           const BackendOptions& options) {
  std::string problem = "no GPU is usable", why_no_gpu = problem;
  bool failed = false;
  const auto note = [&](const Error& error) {
    problem = error.place().empty() ? error.problem() : fmt::format("{}: {}", error.place(), error.problem());
    // A remedy that names a device is for those who chose one.
    why_no_gpu = error.remedy().find("device = \"") == std::string::npos ? error.what() : problem;
  };
  // Only the CPU backend has instruction sets to choose from.
  if (!options.instruction_set.empty()) return cpu::make_backend(description, weights, options);
  if (options.precision == Precision::int16 || options.precision == Precision::int8) {
    return cpu::make_backend(description, weights, options,
                             fmt::format("only the CPU supports precision {}", to_string(options.precision)));
  }
  try {
    for (const cuda::DeviceInfo& device : cuda::devices(false)) {
      BackendOptions on_gpu = options;
      on_gpu.device = Device::cuda(device.index);
      try {
        return cuda::make_backend(description, weights, on_gpu);
      } catch (const Error& error) {  // try the next one
        note(error);
        failed = error.kind() == ErrorKind::device;
      }
    }
  } catch (const Error& error) {
    note(error);
  }
  if (options.precision == Precision::fp16 || options.precision == Precision::tf32) {
    throw Error(ErrorKind::unsupported, fmt::format("precision {}", to_string(options.precision)),
                "needs a GPU, but none is usable: " + problem, "use precision = \"auto\"");
  }
  return cpu::make_backend(description, weights, options, why_no_gpu, failed);
}

}  // namespace

std::unique_ptr<Backend> create_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                        const BackendOptions& options) {
  make_plan(description);  // refuses what has no plan
  check_weights(description, weights);
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw Error(ErrorKind::usage, "threads", fmt::format("{} is out of range", options.threads),
                fmt::format("give 1 to {}, or 0 for one per core", kMaxThreads));
  }
  switch (options.device.kind) {
    case Device::Kind::automatic: return make_best_backend(description, weights, options);
    case Device::Kind::cpu: return cpu::make_backend(description, weights, options);
    case Device::Kind::cuda: return cuda::make_backend(description, weights, options);
    case Device::Kind::ref: break;
  }
  if (options.precision != Precision::automatic && options.precision != Precision::fp32) {
    throw Error(ErrorKind::unsupported, fmt::format("precision {}", to_string(options.precision)),
                "is not supported by the reference backend", "use precision = \"auto\" or \"fp32\"");
  }
  return ref::make_backend(description, weights);
}

std::string describe(const BackendInfo& info) {
  const char* const precision = to_string(info.precision);
  if (!info.device_name.empty()) {
    return fmt::format("{} ({}, {}, {})", info.device, info.device_name, info.instruction_set, precision);
  }
  return fmt::format("{} ({}, {}, {} {})", info.device, info.instruction_set, precision, info.threads,
                     info.threads == 1 ? "thread" : "threads");
}

}  // namespace relucent
