#pragma once

#include <Query.h>

#include <string>
#include <vector>

#include "relucent/rescore_query.h"
#include "relucent/rescored_top_docs.h"

namespace relucent {

/// The first RescoreQuery in `query`, itself or within its clauses that are not prohibited; null where there is none.
RescoreQueryPtr find_rescore_query(const Lucene::QueryPtr& query);

/// The terms of `field` that a document is asked to have, in the query's order.
std::vector<Lucene::String> terms_in_order(const Lucene::QueryPtr& query, const Lucene::String& field);

}  // namespace relucent
