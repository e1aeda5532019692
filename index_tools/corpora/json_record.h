#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace relucent::index_tools {

/// Parses `text` as one JSON object. An escaped lone surrogate, which UTF-8 cannot encode, becomes U+FFFD, in
/// `text` too. Rejects text that nests deeper than kMaxNesting. Returns the problem in a few words, null if there is
/// none.
const char* parse_json_object(std::string& text, nlohmann::json& record);

/// The first of the members `names` that exists; record.end() if none does.
nlohmann::json::const_iterator find_first(const nlohmann::json& record, std::initializer_list<const char*> names);

/// Reads an id: a string, or a whole number as its digits. False for anything else.
bool take_id(const nlohmann::json& value, std::string& id);

/// Appends the string member `name`; null becomes "None", as in Python's format strings and so in ir_datasets' texts.
/// False if it is absent or has another type.
bool append_text(const nlohmann::json& record, const char* name, std::string& text);

}  // namespace relucent::index_tools
