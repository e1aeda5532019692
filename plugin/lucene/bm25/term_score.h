#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugin/lucene/bm25/field_model.h"
#include "plugin/lucene/bm25/formula.h"

namespace relucent::bm25 {

/// How much one term or phrase counts in a query, and what that follows from.
struct Importance {
  float boost = 1;
  float idf = 0;
  std::vector<std::int64_t> document_frequencies;  ///< one per term; idf is the sum over them
  std::vector<std::int64_t> total_frequencies;     ///< one per term, in all documents; empty for BM25
  float weight() const { return boost * idf; }
};

/// What one term or phrase adds to a document's score, by [first_stage] scoring, with the bits of modern Lucene's
/// BM25Similarity, LMDirichletSimilarity or LMJelinekMercerSimilarity. A phrase's likelihood is the sum of its terms'.
class TermScore {
 public:
  /// @param model  must outlive this object
  TermScore(const FieldModel& model, const Importance& importance);

  float operator()(float frequency, std::uint8_t length) const {
    return bm25_ ? contribution(weight_, frequency, factors_[length]) : likelihood(frequency, length);
  }
  bool is_bm25() const { return bm25_; }

 private:
  float likelihood(float frequency, std::uint8_t length) const;

  bool bm25_;
  float weight_;
  const float* factors_;
  double boost_;
  ScoringSettings settings_;
  std::vector<double> probabilities_;  ///< of each term in the collection
};

/// The probability of a term in the language model of all documents.
/// @param tokens  in all documents
double collection_probability(std::int64_t total_frequency, std::int64_t tokens);

}  // namespace relucent::bm25
