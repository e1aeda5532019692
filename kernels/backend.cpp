#include "relucent/kernels/backend.h"

#include "checks.h"
#include "cpu/cpu_backend.h"
#include "ref/ref_backend.h"
#include "relucent/error.h"

namespace relucent {

std::unique_ptr<Backend> create_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                        const BackendOptions& options) {
  check_weights(description, weights);
  if (options.threads < 0) throw Error(ErrorKind::usage, "threads", "must be 0 or more", "0 means every core");
  const std::string& device = options.device;
  if (device == "ref") return ref::make_backend(description, weights);
  if (device == "cpu" || device == "auto") return cpu::make_backend(description, weights, options);
  if (device.starts_with("cuda")) {
    throw Error(ErrorKind::device, "device " + device, "this build has no CUDA backend", "use device = \"cpu\" or \"auto\"");
  }
  throw Error(ErrorKind::usage, "device " + device, "is not known", "the devices are auto, ref, cpu and cuda:N");
}

const char* to_string(Precision precision) noexcept {
  switch (precision) {
    case Precision::automatic: return "auto";
    case Precision::fp32: return "fp32";
    case Precision::bf16: return "bf16";
    case Precision::int8: return "int8";
  }
  return "?";
}

Precision parse_precision(const std::string& name) {
  for (const Precision p : {Precision::automatic, Precision::fp32, Precision::bf16, Precision::int8}) {
    if (name == to_string(p)) return p;
  }
  throw Error(ErrorKind::usage, "precision " + name, "is not known", "the precisions are auto, fp32, bf16 and int8");
}

}  // namespace relucent
