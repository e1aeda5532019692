#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace relucent::index_tools {

/// Parses `text` as one JSON object. Half a surrogate pair written as an escape, which no UTF-8 text can hold, becomes
/// U+FFFD, in `text` too. Refuses what nests deeper than kMaxNesting. Returns what is wrong in a few words, null if
/// nothing.
const char* parse_json_object(std::string& text, nlohmann::json& record);

/// The first of the members `names` that is there; the record's end where there is none.
nlohmann::json::const_iterator find_first(const nlohmann::json& record, std::initializer_list<const char*> names);

/// Takes an id: a string, or a whole number as its digits. False for anything else.
bool take_id(const nlohmann::json& value, std::string& id);

/// Appends the member `name`, a string; null as "None", as Python's format strings write it and so ir_datasets' texts
/// hold it. False where it is absent or something else.
bool append_text(const nlohmann::json& record, const char* name, std::string& text);

}  // namespace relucent::index_tools
