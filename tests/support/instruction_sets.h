// The CPU's levels of every processor; a machine has some of them.
#pragma once

#include <string>

namespace relucent::testing {

inline const std::string kInstructionSets[] = {"plain",       "avx2",        "avx_vnni",  "avx512",
                                               "avx512_vnni", "avx512_bf16", "amx",       "amx_emulated",
                                               "neon",        "neon_dot",    "neon_i8mm", "neon_bf16"};

}  // namespace relucent::testing
