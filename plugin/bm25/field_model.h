#pragma once

#include <IndexReader.h>

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "plugin/bm25/term_maxima.h"
#include "relucent/bm25.h"

namespace relucent::bm25 {

/// One field's numbers in BM25: statistics, parameters, and every document's length byte. Immutable once
/// made, but for what it learns of terms.
class FieldModel {
 public:
  FieldModel(const FieldStatistics& statistics, float k1, float b);

  /// Length bytes held by the reader itself (its norms) or by us; a leaf without any counts as length 1 everywhere,
  /// as modern Lucene does for a field without norms. The bytes of the norms are read once, here.
  void add_norms(const Lucene::IndexReaderPtr& leaf, const Lucene::ByteArray& norms);
  void add_lengths(const Lucene::IndexReaderPtr& leaf, std::vector<std::uint8_t> lengths);

  /// One byte per document of the leaf; null: length 1. Throws Error `usage` for a reader of another index.
  const std::uint8_t* lengths(const Lucene::IndexReader* leaf) const;

  const FieldStatistics& statistics() const { return statistics_; }
  float k1() const { return k1_; }
  float b() const { return b_; }
  float average_length() const { return average_length_; }
  /// bm25::length_factors for each byte.
  const std::array<float, 256>& factors() const { return factors_; }
  /// The length byte of the longest document there is, and its factor.
  std::uint8_t longest() const { return longest_; }
  float smallest_factor() const { return factors_[longest_]; }
  /// What is known of the terms in this leaf. Throws as lengths() does.
  TermMaxima& maxima(const Lucene::IndexReader* leaf) const { return *known(leaf).maxima; }

 private:
  void add(const Lucene::IndexReaderPtr& leaf, const std::uint8_t* bytes);

  struct Leaf {
    Lucene::ByteArray norms;
    std::vector<std::uint8_t> own;
    const std::uint8_t* bytes = nullptr;
    std::unique_ptr<TermMaxima> maxima = std::make_unique<TermMaxima>();
  };
  const Leaf& known(const Lucene::IndexReader* leaf) const;

  FieldStatistics statistics_;
  float k1_, b_, average_length_;
  std::array<float, 256> factors_;
  std::uint8_t longest_ = 1;  ///< length byte
  std::unordered_map<const Lucene::IndexReader*, Leaf> leaves_;
};

}  // namespace relucent::bm25
