#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/index_format/fields/declared_fields.h"

namespace relucent::fields {

/// What a document's values of one field must be: one of the keywords, or a number in one of the ranges.
struct Condition {
  std::string field;
  std::vector<std::string> keywords;                        ///< terms
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  ///< sortable() of the first and the last number
};

/// All conditions of a filter, of which a document must meet each. Reads an object in JSON whose members are declared
/// fields: {"lang": "de", "year": {"gte": 2020, "lt": 2024}, "source": ["a", "b"]}. A value is one that a document must
/// have, an array one or more of which it must have one, an object the bounds of numbers: gt, gte, lt, lte. Throws
/// Error `usage` for what is not such an object, naming the key.
std::vector<Condition> parse_filter(std::string_view json, std::span<const DeclaredField> declared);

/// The declared field of this name. Throws Error `usage` at `place`, listing the declared ones, if there is none.
const DeclaredField& find_declared(std::span<const DeclaredField> declared, std::string_view name,
                                   std::string_view place);

}  // namespace relucent::fields
