#pragma once

#include <IndexReader.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace relucent::bm25 {

/// How often terms occur in the documents of an index, also in deleted ones that no merge has dropped yet. Lucene 3's
/// files do not record it, so the term's postings are read. The numbers of frequent terms are kept. Thread-safe.
class TotalFrequencies {
 public:
  explicit TotalFrequencies(std::vector<Lucene::IndexReaderPtr> leaves) : leaves_(std::move(leaves)) {}

  /// Throws Error `invalid_data` if the postings are damaged.
  std::int64_t of(const Lucene::TermPtr& term);

 private:
  /// Postings that are read faster than their sum would be found.
  static constexpr std::int64_t kFewPostings = 512;

  std::vector<Lucene::IndexReaderPtr> leaves_;
  std::mutex mutex_;
  std::unordered_map<Lucene::String, std::int64_t> known_;  ///< by field, a zero and the term
};

}  // namespace relucent::bm25
