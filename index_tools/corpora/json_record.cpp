#include "index_tools/corpora/json_record.h"

#include <optional>

#include "base/nesting.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

// The code unit of "\uXXXX" at `at`, if there is one.
std::optional<unsigned> escaped_unit(const std::string& text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<unsigned>(digit);
  }
  return unit;
}

// JSON written by other programs may hold half a surrogate pair as an escape.
void replace_lone_surrogates(std::string& text) {
  for (std::size_t i = text.find('\\'); i != std::string::npos; i = text.find('\\', i)) {
    const std::optional<unsigned> unit = escaped_unit(text, i);
    if (!unit) {
      i += 2;
      continue;
    }
    const bool high = *unit >= 0xD800 && *unit <= 0xDBFF;
    const bool low = *unit >= 0xDC00 && *unit <= 0xDFFF;
    const std::optional<unsigned> next = high ? escaped_unit(text, i + 6) : std::nullopt;
    if (next && *next >= 0xDC00 && *next <= 0xDFFF) {
      i += 12;
      continue;
    }
    if (high || low) text.replace(i + 2, 4, "fffd");
    i += 6;
  }
}

}  // namespace

const char* parse_json_object(std::string& text, json& record) {
  if (too_deep_in_json(text)) return "JSON nested too deep";
  if (too_many_in_json(text)) return "JSON with too many values";
  replace_lone_surrogates(text);
  record = json::parse(text, nullptr, false);
  if (record.is_discarded()) return "not JSON";
  if (!record.is_object()) return "not a JSON object";
  return nullptr;
}

json::const_iterator find_first(const json& record, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto found = record.find(name); found != record.end()) return found;
  }
  return record.end();
}

bool take_id(const json& value, std::string& id) {
  if (value.is_number_integer()) {
    id = value.dump();
  } else if (value.is_string()) {
    id = value.get_ref<const std::string&>();
  } else {
    return false;
  }
  return true;
}

bool append_text(const json& record, const char* name, std::string& text) {
  const auto value = record.find(name);
  if (value == record.end()) return false;
  if (value->is_null()) {
    text += "None";
  } else if (value->is_string()) {
    text += value->get_ref<const std::string&>();
  } else {
    return false;
  }
  return true;
}

}  // namespace relucent::index_tools
