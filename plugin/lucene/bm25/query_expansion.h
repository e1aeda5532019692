#pragma once

#include <IndexReader.h>
#include <Query.h>
#include <TopDocs.h>

#include <string>

#include "plugin/lucene/bm25/boolean_weight.h"
#include "plugin/lucene/bm25/relevance_model.h"
#include "relucent/config.h"

namespace relucent::bm25 {

/// Expands queries of plain words by RM3 (relevance_model()), as Anserini does: with terms of 2 to 20 characters, of a
/// to z and 0 to 9 unless configured otherwise, that at most a tenth of the documents have. The terms of a hit are
/// those of its stored text, since indexes have no term vectors. Thread-safe.
class QueryExpansion {
 public:
  /// @param place  of the index, for messages
  QueryExpansion(const Lucene::IndexReaderPtr& reader, const FirstStageConfig& first_stage, const IndexConfig& fields,
                 std::string place);

  /// Whether the query has terms of the searched field only.
  bool can_expand(const DisjunctionWeight& query) const;
  /// @param hits  the best ones of `query`
  /// Throws Error `usage` if the index stores no text.
  Lucene::QueryPtr expanded(const DisjunctionWeight& query, const Lucene::TopDocsPtr& hits) const;

 private:
  std::vector<FeedbackDocument> read(const Lucene::TopDocsPtr& hits) const;
  bool may_take(const Lucene::String& term) const;

  Lucene::IndexReaderPtr reader_;
  FirstStageConfig first_stage_;
  std::vector<std::string> text_fields_;
  Lucene::String contents_;
  std::string place_;
};

}  // namespace relucent::bm25
