#include "server/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/nesting.h"
#include "server/refusal.h"

namespace relucent::server {

JsonTree parse_object(std::string_view body, std::size_t max_values) {
  if (const auto place = too_deep_in_json(body)) {
    throw Refusal(400, "Validation", fmt::format("byte {} of the body: nested more than {} deep", *place, kMaxNesting));
  }
  if (too_many_in_json(body, max_values)) {
    throw too_much(fmt::format("the body has more than {} values and names", max_values));
  }
  JsonTree json;
  if (const auto problem = json.read(body)) {
    if (problem->out_of_range) throw Refusal(400, "Validation", "the body is not JSON: a number is out of range");
    throw Refusal(400, "Validation", fmt::format("byte {} of the body: this is not JSON in UTF-8", problem->byte));
  }
  if (!json->is_object()) throw not_valid(fmt::format("the body must be an object, not {}", kind_of(*json)));
  return json;
}

std::string kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return "a whole number";
    case Json::value_t::number_float: return "a number";
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  return "something else";
}

const Json* Fields::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::string Fields::text(const char* name, std::size_t max_bytes) const {
  const Json* value = find(name);
  if (value == nullptr) throw not_valid(fmt::format("`{}` is missing", name));
  if (!value->is_string()) throw not_valid(fmt::format("`{}` must be a string, not {}", name, kind_of(*value)));
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes) {
    throw too_much(fmt::format("`{}` has {} bytes, more than the {} allowed", name, text.size(), max_bytes));
  }
  return text;
}

bool Fields::boolean(const char* name, bool absent) const {
  const Json* value = find(name);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) throw not_valid(fmt::format("`{}` must be true or false, not {}", name, kind_of(*value)));
  return value->get<bool>();
}

std::int64_t Fields::whole_number(const char* name, std::int64_t absent, std::int64_t low, std::int64_t high) const {
  const Json* value = find(name);
  if (value == nullptr) return absent;
  if (value->is_number_float()) {  // 3.0 is whole; a number above every limit must not be converted
    const auto given = value->get<double>();
    if (given == std::floor(given)) {
      if (given > static_cast<double>(high)) throw too_much(fmt::format("`{}` is above {}", name, high));
      if (given < static_cast<double>(low)) throw not_valid(fmt::format("`{}` is below {}", name, low));
      return static_cast<std::int64_t>(given);
    }
  }
  if (!value->is_number_integer()) {
    throw not_valid(fmt::format("`{}` must be a whole number, not {}", name, kind_of(*value)));
  }
  const bool above = value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(high);
  if (above) throw too_much(fmt::format("`{}` is above {}", name, high));
  const auto number = value->get<std::int64_t>();
  if (number < low) throw not_valid(fmt::format("`{}` is below {}", name, low));
  return number;
}

std::string query_of(const Fields& fields, const ServerConfig& limits) {
  return fields.text("query", std::min(static_cast<std::size_t>(limits.text_bytes), kQueryBytes));
}

std::string index_of(const Fields& fields) {
  constexpr std::size_t most = 256;
  if (fields.find("index") == nullptr) return {};
  std::string name = fields.text("index", most);
  if (name.empty()) throw not_valid("`index` is empty");
  return name;
}

double as_json(double score) {
  if (!std::isfinite(score)) return 0.0;
  if (std::abs(score) > static_cast<double>(std::numeric_limits<float>::max())) return score;
  const auto narrow = static_cast<float>(score);
  if (static_cast<double>(narrow) != score) return score;
  return std::strtod(fmt::format("{}", narrow).c_str(), nullptr);
}

}  // namespace relucent::server
