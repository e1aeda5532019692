#pragma once

#include <cstdint>
#include <vector>

namespace relucent::bm25 {

/// How much one term or phrase counts in a query, and what that follows from.
struct Importance {
  float boost = 1;
  float idf = 0;
  std::vector<std::int64_t> document_frequencies;  ///< one per term; idf is the sum over them
  std::vector<std::int64_t> total_frequencies;     ///< one per term, in all documents; empty for BM25
  float weight() const { return boost * idf; }
};

}  // namespace relucent::bm25
