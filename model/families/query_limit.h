#pragma once

#include <cstdint>
#include <string_view>

#include "model/families/config_reader.h"

namespace relucent {

/// The most word pieces of a query that a cross-encoder was made for; 0: as many as fit. config.json may state it as
/// `query_length` (null: as many as fit), as Lightning IR does. Without the key it is 30 for sparse checkpoints, whose
/// authors cut every query there: those of the class ListformerModelForSequenceClassification, and those with a sparse
/// pattern. Throws Error `invalid_data` for a value that is not a whole number of at least 1.
std::int32_t read_query_limit(ConfigReader& config, std::string_view architecture);

}  // namespace relucent
