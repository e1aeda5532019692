#pragma once

#include <Similarity.h>

#include <cstdint>

namespace relucent::bm25 {

/// For writing: puts modern Lucene's length byte into the norms. For searching: neutral factors, so that what
/// Lucene++'s own phrase and span scorers compute is the raw frequency; the formula is applied outside.
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
