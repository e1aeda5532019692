#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/backend.h"

namespace relucent {

struct AttentionShape {
  std::size_t sequences = 1, tokens = 1, heads = 1, head_size = 1;
  std::optional<std::size_t> window = std::nullopt;  ///< a token sees so many tokens to each side; none: all
};

/// How long a backend's kernel takes for one layer's attention of sequences of equal length: the products QK^T and PV
/// within the window and the softmax between them, of arbitrary queries, keys and values that lie as the encoder's do;
/// on a CPU in fp32, with the backend's number of threads, on a GPU in the backend's precision. `runs` times after one
/// untimed run. For benchmarks. Throws Error: `unsupported` for the device `ref` and for shapes beyond a GPU's kernels,
/// `device` if the GPU fails.
RELUCENT_API std::vector<std::chrono::nanoseconds> time_attention(const BackendInfo& info, const AttentionShape& shape,
                                                                  int runs);

}  // namespace relucent
