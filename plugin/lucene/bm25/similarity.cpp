#include "plugin/lucene/bm25/similarity.h"

#include <FieldInvertState.h>

#include "plugin/index_format/length_byte.h"

namespace relucent::bm25 {

double BM25Similarity::computeNorm(const Lucene::String& field, const Lucene::FieldInvertStatePtr& state) {
  return lengthNorm(field, state->getLength() - state->getNumOverlap());
}

double BM25Similarity::lengthNorm(const Lucene::String&, std::int32_t tokens) {
  // The writer encodes the returned value; encodeNorm(decodeNorm(b)) == b for every byte.
  return decodeNorm(length_byte(tokens));
}

double BM25Similarity::queryNorm(double) { return 1; }
double BM25Similarity::sloppyFreq(std::int32_t distance) { return 1.0F / static_cast<float>(distance + 1); }
double BM25Similarity::tf(double frequency) { return frequency; }
double BM25Similarity::idf(std::int32_t, std::int32_t) { return 1; }
double BM25Similarity::coord(std::int32_t, std::int32_t) { return 1; }

}  // namespace relucent::bm25
