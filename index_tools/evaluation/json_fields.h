#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// One line of a JSON lines file as an object, keys in their order.
using JsonRecord = nlohmann::ordered_json;

/// Parses a line. Throws Error `invalid_data` at file:line where it is not one JSON object.
JsonRecord parse_record(const std::string& line, const std::filesystem::path& file, std::int64_t number);

/// The first of the named fields that is there; nullptr where there is none.
const JsonRecord* find_field(const JsonRecord& record, std::initializer_list<const char*> names);

/// An id: a string, or a whole number as its digits. Throws Error `invalid_data` at file:line where none of the names
/// is there, and where the value is something else or empty.
std::string id_field(const JsonRecord& record, std::initializer_list<const char*> names,
                     const std::filesystem::path& file, std::int64_t number);

}  // namespace relucent::index_tools
