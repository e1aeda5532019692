#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "relucent/embedding_numbers.h"
#include "relucent/export.h"
#include "relucent/stop.h"

namespace relucent {

/// A query's vectors, and how they are compared with a document's: each one's greatest dot product with any of them,
/// summed over the query (MaxSim), averaged, weighed by their softmax, or the greatest of all.
struct MaxSimQuery {
  enum class Over { sum, mean, max, softmax };
  std::span<const float> vectors;  ///< [vectors][size], at least one
  std::size_t size = 0;
  Over over = Over::sum;
};

/// Writes one score per document, in fp32. The bits do not depend on the number of threads, nor on the instruction set
/// if that has fused multiply-add. Throws Error: `usage` for a document without vectors, or whose bytes are not those
/// of whole vectors, or for an unknown instruction set (empty: the best one); `deadline` or `interrupted` when `stop`
/// is due.
///
/// @param threads  0: one per core that this process may use
RELUCENT_API void max_sim(const MaxSimQuery& query, std::span<const StoredVectors> documents, std::span<float> scores,
                          int threads = 0, const StopSignal& stop = {}, const std::string& instruction_set = {});

}  // namespace relucent
