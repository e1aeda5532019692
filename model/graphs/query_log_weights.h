#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/graphs/build_graph.h"

namespace relucent {

/// Weights of documents' terms from the queries of a log: of the queries that have a document among their best hits,
/// the fraction that has the term (Fu et al., equation 1). Hits are usually the first stage's best 10.
class QueryLogWeights {
 public:
  /// @param terms  of the query, as the index's analyzer makes them; repeated ones count once
  /// @param hits   its best documents, by number, without repetitions
  void add_query(std::vector<std::string> terms, std::span<const std::int64_t> hits);

  /// How many queries have the document among their hits.
  std::size_t queries(std::int64_t document) const;
  /// The terms with a weight above 0; empty if no query found the document: such a document has no weights of this
  /// kind.
  TermWeights weights(std::int64_t document) const;

 private:
  std::vector<std::vector<std::string>> terms_;                          // [queries], each once
  std::unordered_map<std::int64_t, std::vector<std::size_t>> found_by_;  // queries by document
};

}  // namespace relucent
