#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace relucent::bm25 {

/// Terms and their weights. The order of the terms decides between equal weights.
using WeightedTerms = std::map<std::wstring, float>;

/// A hit from which RM3 takes terms: its score, and how often each term that may be taken occurs in it.
struct FeedbackDocument {
  float score = 0;
  WeightedTerms terms;
};

/// RM3 (Abdul-Jaleel et al. 2004; relevance models, Lavrenko and Croft 2001) as Anserini computes it, with its float
/// operations: each document's most frequent terms, scaled to the sum 1, weighted with its score and added up; the best
/// of these, scaled to the sum 1, are interpolated with the query's terms, scaled to the sum 1.
/// @param documents        best first
/// @param terms            how many are kept of each document and of their sum
/// @param original_weight  of the query's terms; 1 − original_weight is that of the others
WeightedTerms relevance_model(WeightedTerms query, std::vector<FeedbackDocument> documents, std::size_t terms,
                              float original_weight);

}  // namespace relucent::bm25
