#include "relucent/kernels/backend.h"

#include <string_view>

#include "checks.h"
#include "cpu/cpu_backend.h"
#include "ref/ref_backend.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr int kMostThreads = 1024;

/// Whether `device` is "cuda:N" with a number N that a machine may have.
bool names_cuda_device(const std::string& device) {
  constexpr std::string_view prefix = "cuda:";
  if (!device.starts_with(prefix) || device.size() == prefix.size() || device.size() > prefix.size() + 3) return false;
  return device.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

}  // namespace

std::unique_ptr<Backend> create_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                        const BackendOptions& options) {
  check_weights(description, weights);
  if (options.threads < 0 || options.threads > kMostThreads) {
    throw Error(ErrorKind::usage, "threads", "is " + std::to_string(options.threads) + ", not 0 to " +
                std::to_string(kMostThreads), "0 means every core");
  }
  const std::string& device = options.device;
  if (device == "ref") {
    if (options.precision != Precision::automatic && options.precision != Precision::fp32) {
      throw Error(ErrorKind::unsupported, std::string("precision ") + to_string(options.precision),
                  "is not one of the reference backend", "use precision = \"auto\" or \"fp32\"");
    }
    return ref::make_backend(description, weights);
  }
  if (device == "cpu" || device == "auto") return cpu::make_backend(description, weights, options);
  if (names_cuda_device(device)) {
    throw Error(ErrorKind::device, "device " + device, "this build has no CUDA backend", "use device = \"cpu\" or \"auto\"");
  }
  throw Error(ErrorKind::usage, "device " + device, "is not known", "the devices are auto, ref, cpu and cuda:N");
}

std::string describe(const BackendInfo& info) {
  std::string text = info.device + " (";
  if (!info.device_name.empty()) text += info.device_name + ", ";
  text += info.instruction_set + ", " + to_string(info.precision);
  if (info.device_name.empty()) text += ", " + std::to_string(info.threads) + (info.threads == 1 ? " thread" : " threads");
  return text + ")";
}

}  // namespace relucent
