#pragma once

#include <string_view>

#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_query.h"

namespace relucent {

/// A person's words as a query, without any query syntax: the words that [first_stage] analyzer makes of the text
/// (UTF-8), each an optional clause on [index] contents_field, with the text for the second stage. A text without a
/// word (stop words alone) matches nothing. BooleanQuery::getMaxClauseCount() does not limit the number of words.
/// Throws Error.
RELUCENT_API RescoreQueryPtr makeTextQuery(std::string_view text, const Config& config);

}  // namespace relucent
