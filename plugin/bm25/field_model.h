#pragma once

#include <IndexReader.h>

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "relucent/bm25.h"

namespace relucent::bm25 {

/// One field's numbers in BM25: statistics, parameters, and every document's length byte. Immutable once made.
class FieldModel {
 public:
  FieldModel(const FieldStatistics& statistics, float k1, float b);

  /// Length bytes held by the reader itself (its norms) or by us; a leaf without any counts as length 1 everywhere,
  /// as modern Lucene does for a field without norms. The bytes of the norms are read once, here.
  void add_norms(const Lucene::IndexReaderPtr& leaf, const Lucene::ByteArray& norms);
  void add_lengths(const Lucene::IndexReaderPtr& leaf, std::vector<std::uint8_t> lengths);

  /// A byte a document of the leaf; null: length 1. Throws Error `usage` for a reader of another index.
  const std::uint8_t* lengths(const Lucene::IndexReader* leaf) const;

  const FieldStatistics& statistics() const { return statistics_; }
  float k1() const { return k1_; }
  float b() const { return b_; }
  float average_length() const { return average_length_; }
  /// bm25::length_factors for each byte.
  const std::array<float, 256>& factors() const { return factors_; }
  /// The factor of the longest document there is.
  float smallest_factor() const { return factors_[longest_]; }

 private:
  void add(const Lucene::IndexReaderPtr& leaf, const std::uint8_t* bytes);

  struct Leaf {
    Lucene::ByteArray norms;
    std::vector<std::uint8_t> own;
    const std::uint8_t* bytes = nullptr;
  };

  FieldStatistics statistics_;
  float k1_, b_, average_length_;
  std::array<float, 256> factors_;
  std::uint8_t longest_ = 1;  ///< length byte
  std::unordered_map<const Lucene::IndexReader*, Leaf> leaves_;
};

}  // namespace relucent::bm25
