#pragma once

#include <IndexReader.h>

#include <optional>
#include <string>
#include <vector>

#include "plugin/lucene/index/commit_data.h"
#include "relucent/weighted_field.h"

namespace relucent::bm25 {

/// Throws Error `usage` at `place` unless each field has words to search: in our own index the contents and the
/// declared texts, in another program's index every indexed field. Says which can be searched.
void require_searchable(const std::vector<WeightedField>& fields, const Lucene::IndexReaderPtr& reader,
                        const std::optional<CommitData>& ours, const std::string& place);

}  // namespace relucent::bm25
