#pragma once

#include <string_view>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_query.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

/// Turns plain words into a query, without any query syntax. Each word that [first_stage] analyzer finds in the text
/// (UTF-8) becomes an optional clause on each of [first_stage] fields, with the field's weight as its boost, or on
/// [index] contents_field alone; the second stage reads the text itself. A text without words (e.g. only stop words)
/// matches nothing. BooleanQuery::getMaxClauseCount() does not limit the number of words. Throws Error.
RELUCENT_API RescoreQueryPtr makeTextQuery(std::string_view text, const Config& config);

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
