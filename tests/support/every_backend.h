// What golden answers are compared on.
#pragma once

#include <vector>

#include "relucent/kernels/backend.h"
#include "tests/support/instruction_sets.h"

namespace relucent::testing {

/// The reference, the CPU in every instruction set and precision, and a GPU in fp32 and fp16. A machine has some of
/// them.
inline std::vector<BackendOptions> every_backend() {
  std::vector<BackendOptions> all = {{Device::ref(), Precision::fp32, 1, ""}};
  for (const std::string& level : kInstructionSets) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int16, Precision::int8}) {
      // Tiles do not multiply int16: these are the kernels of avx512_vnni, which the emulation makes slow.
      if (precision == Precision::int16 && level.starts_with("amx")) continue;
      all.push_back({Device::cpu(), precision, 2, level});
    }
  }
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    all.push_back({Device::cuda(0), precision, 1, ""});
  }
  return all;
}

}  // namespace relucent::testing
