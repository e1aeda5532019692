#include <string>

#include "relucent/error.h"
#include "relucent/kernels/backend.h"

namespace relucent {
namespace {

constexpr Precision kPrecisions[] = {Precision::automatic, Precision::fp32, Precision::tf32,
                                     Precision::bf16,      Precision::fp16, Precision::int8};

}  // namespace

const char* to_string(Precision precision) noexcept {
  switch (precision) {
    case Precision::automatic: return "auto";
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
    case Precision::int8: return "int8";
  }
  return "?";
}

Precision parse_precision(const std::string& name) {
  for (const Precision precision : kPrecisions) {
    if (name == to_string(precision)) return precision;
  }
  throw Error(ErrorKind::usage, "precision " + name, "is unknown", "use auto, fp32, tf32, bf16, fp16 or int8");
}

}  // namespace relucent
