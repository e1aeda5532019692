#pragma once

#include <Similarity.h>

#include <cstdint>

namespace relucent::bm25 {

/// When indexing, stores modern Lucene's length byte as the norm. When searching, has neutral factors, so that
/// Lucene++'s phrase and span scorers compute the raw frequency; FrequencyWeight applies the formula.
class BM25Similarity : public Lucene::Similarity {
 public:
  using Lucene::Similarity::idf;
  using Lucene::Similarity::tf;

  double computeNorm(const Lucene::String& field, const Lucene::FieldInvertStatePtr& state) override;
  double lengthNorm(const Lucene::String& field, std::int32_t tokens) override;
  double queryNorm(double sum_of_squared_weights) override;
  double sloppyFreq(std::int32_t distance) override;
  double tf(double frequency) override;
  double idf(std::int32_t document_frequency, std::int32_t documents) override;
  double coord(std::int32_t overlap, std::int32_t max_overlap) override;
};

}  // namespace relucent::bm25
