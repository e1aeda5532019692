#include "relucent/weighted_field.h"

#include <fmt/core.h>

#include <charconv>
#include <set>

#include "relucent/error.h"

namespace relucent {

std::optional<WeightedField> parse_weighted_field(std::string_view text) {
  WeightedField field;
  const std::size_t mark = text.rfind('^');
  field.name = text.substr(0, mark);
  if (field.name.empty() || field.name.find('\0') != std::string::npos) return std::nullopt;
  if (mark == std::string_view::npos) return field;
  const std::string_view number = text.substr(mark + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), field.weight);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (whole && field.weight >= kLeastFieldWeight && field.weight <= kMostFieldWeight) return field;
  return std::nullopt;
}

std::vector<WeightedField> parse_weighted_fields(const std::vector<std::string>& texts, std::string_view place) {
  std::vector<WeightedField> fields;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    auto field = parse_weighted_field(text);
    if (!field) {
      throw Error(ErrorKind::usage, std::string(place),
                  fmt::format("\"{}\" is not a field's name, or a name, ^ and a weight from 0.000001 to 1000000",
                              text.substr(0, 100)),
                  "write fields as \"contents\" or \"title^2\"");
    }
    if (!names.insert(field->name).second) {
      throw Error(ErrorKind::usage, std::string(place),
                  fmt::format("the field \"{}\" is named twice", field->name.substr(0, 100)), "name each field once");
    }
    fields.push_back(*std::move(field));
  }
  return fields;
}

std::vector<WeightedField> searched_fields(const IndexConfig& index, const FirstStageConfig& first_stage) {
  if (first_stage.fields.empty()) return {{index.contents_field, 1}};
  return parse_weighted_fields(first_stage.fields, "[first_stage] fields");
}

}  // namespace relucent
