#pragma once

#include <Query.h>

#include <string>
#include <vector>

#include "relucent/rescore_query.h"
#include "relucent/rescored_top_docs.h"

namespace relucent {

/// The first RescoreQuery in `query`, itself or within its clauses that are not prohibited; null where there is none.
RescoreQueryPtr find_rescore_query(const Lucene::QueryPtr& query);

/// Whether nothing but rules says which documents match: all of them, a prefix, a pattern, a range or a filter. Such a
/// query has no words, though a parser's text of it ("ban*") is not empty. False for a query without any part.
bool matches_by_rule_alone(const Lucene::QueryPtr& query);

/// The terms of `field` that a document is asked to have, in the query's order: words, not prefixes or patterns.
std::vector<Lucene::String> terms_in_order(const Lucene::QueryPtr& query, const Lucene::String& field);

}  // namespace relucent
