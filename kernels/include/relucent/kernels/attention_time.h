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

/// How long a CPU backend's kernel takes for one layer's attention of sequences of equal length: the products QK^T and
/// PV within the window and the softmax between them, of random queries, keys and values in fp32 that lie as the
/// encoder's do. `runs` times after one untimed run, with the backend's number of threads. For benchmarks. Throws Error
/// `unsupported` for a backend that is not a CPU's.
RELUCENT_API std::vector<std::chrono::nanoseconds> time_attention(const BackendInfo& info, const AttentionShape& shape,
                                                                  int runs);

}  // namespace relucent
