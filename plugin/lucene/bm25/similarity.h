#pragma once

#include <FieldInvertState.h>
#include <Similarity.h>

#include <cstdint>

#include "plugin/index_format/length_byte.h"

namespace relucent::bm25 {

/// When indexing, stores modern Lucene's length byte as the norm. When searching, has neutral factors, so that
/// Lucene++'s phrase and span scorers compute the raw frequency; FrequencyWeight applies the formula.
class BM25Similarity : public Lucene::Similarity {
 public:
  using Lucene::Similarity::idf;
  using Lucene::Similarity::tf;

  double computeNorm(const Lucene::String& field, const Lucene::FieldInvertStatePtr& state) override {
    return lengthNorm(field, state->getLength() - state->getNumOverlap());
  }
  double lengthNorm(const Lucene::String&, std::int32_t tokens) override {
    // The writer encodes the returned value; encodeNorm(decodeNorm(b)) == b for every byte.
    return decodeNorm(length_byte(tokens));
  }
  double queryNorm(double) override { return 1; }
  double sloppyFreq(std::int32_t distance) override { return 1.0F / static_cast<float>(distance + 1); }
  double tf(double frequency) override { return frequency; }
  double idf(std::int32_t, std::int32_t) override { return 1; }
  double coord(std::int32_t, std::int32_t) override { return 1; }
};

}  // namespace relucent::bm25
