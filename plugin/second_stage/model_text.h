#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relucent/stop.h"
#include "relucent/text_range.h"

namespace relucent {

/// A text for the model, put together from the texts of several fields.
struct ModelText {
  std::string text;              ///< those that are not blank, in order, joined by a single space
  std::vector<TextRange> parts;  ///< by field: what it contributed to the text; empty for an absent or blank one
};

/// Whether a text has only white space. Throws Error when `stop` is due.
bool is_blank(std::string_view text, const StopSignal& stop);

/// Joins the fields' texts. Throws Error when `stop` is due.
ModelText join_fields(std::span<std::optional<std::string>> fields, const StopSignal& stop);

/// For a ModelText's text and parts: the field with the largest share of a range of the text, the first of equal ones,
/// and the bytes of that field's text that are in the range, without white space at both ends.
std::pair<std::size_t, TextRange> place_in_field(std::string_view text, std::span<const TextRange> parts,
                                                 const TextRange& range);

}  // namespace relucent
