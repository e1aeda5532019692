#pragma once

#include <Query.h>

#include <string>
#include <vector>

#include "relucent/rescore_query.h"

namespace relucent {

/// The first RescoreQuery in `query`: the query itself or inside its clauses, except prohibited ones; null if there is
/// none.
RescoreQueryPtr find_rescore_query(const Lucene::QueryPtr& query);

/// Whether only rules select documents: match-all, prefix, pattern, range or filter. Such a query has no words,
/// although its typed text ("ban*") is not empty. False for a query without parts.
bool matches_by_rule_alone(const Lucene::QueryPtr& query);

/// The query's terms in `field`, in order, without prohibited clauses: words, not prefixes or patterns.
std::vector<Lucene::String> terms_in_order(const Lucene::QueryPtr& query, const Lucene::String& field);

}  // namespace relucent
