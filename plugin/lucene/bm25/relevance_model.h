#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace relucent::bm25 {

/// Terms and their weights. The order of the terms decides between equal weights.
using WeightedTerms = std::map<std::wstring, float>;

/// The terms of the largest weights among those for which `may_take` returns true; of equal weights, the first in the
/// order of the terms. Calls `may_take`, which may be slow, only until `count` terms are found.
WeightedTerms best_terms(const WeightedTerms& terms, std::size_t count,
                         const std::function<bool(const std::wstring&)>& may_take);

/// A hit from which RM3 takes terms: its score, and how often each of its best_terms() occurs in it.
struct FeedbackDocument {
  float score = 0;
  WeightedTerms terms;
};

/// RM3 (Abdul-Jaleel et al. 2004; relevance models, Lavrenko and Croft 2001) as Anserini computes it, with its float
/// operations: each document's most frequent terms, scaled to the sum 1, weighted with its score and added up; the best
/// of these, scaled to the sum 1, are interpolated with the query's terms, scaled to the sum 1.
/// @param documents        best first, each with at most `terms` terms
/// @param terms            how many are kept of the documents' sum
/// @param original_weight  of the query's terms; 1 − original_weight is that of the others
WeightedTerms relevance_model(WeightedTerms query, const std::vector<FeedbackDocument>& documents, std::size_t terms,
                              float original_weight);

}  // namespace relucent::bm25
