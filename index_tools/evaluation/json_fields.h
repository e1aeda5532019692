#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// One line of a JSON lines file as it is read: a map, in which an object with very many keys costs no more than
/// others.
using JsonRecord = nlohmann::json;
/// One line to write, keys in their order. Finding a key takes as long as it has keys.
using JsonLine = nlohmann::ordered_json;

/// Parses a line. Throws Error `invalid_data` at file:line if it is not a single JSON object.
JsonRecord parse_record(const std::string& line, const std::filesystem::path& file, std::int64_t number);

/// The first of the named fields that exists; nullptr if none does.
const JsonRecord* find_field(const JsonRecord& record, std::initializer_list<const char*> names);

/// An id: a string, or a whole number as its digits. Throws Error `invalid_data` at file:line if none of the names
/// exists, or if the value is empty or of another type.
std::string id_field(const JsonRecord& record, std::initializer_list<const char*> names,
                     const std::filesystem::path& file, std::int64_t number);

}  // namespace relucent::index_tools
