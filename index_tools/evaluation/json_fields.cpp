#include "index_tools/evaluation/json_fields.h"

#include <fmt/core.h>

#include "base/ascii.h"
#include "base/nesting.h"
#include "index_tools/evaluation/text_lines.h"

namespace relucent::index_tools {

JsonRecord parse_record(const std::string& line, const std::filesystem::path& file, std::int64_t number) {
  if (const auto place = too_deep_in_json(line)) {
    bad_line(file, number,
             fmt::format("nests deeper than {} levels (at byte {}): {}", kMaxNesting, *place + 1, excerpt(line)),
             "remove the line, or reduce its nesting");
  }
  if (too_many_in_json(line)) {
    bad_line(file, number, fmt::format("has more than {} values and names: {}", kMaxJsonValues, excerpt(line)),
             "remove the line, or what is not needed of it");
  }
  JsonRecord record;
  try {
    record = JsonRecord::parse(line);
  } catch (const nlohmann::json::parse_error& error) {
    bad_line(file, number, fmt::format("is not JSON (stopped at byte {}): {}", error.byte, excerpt(line)),
             "every line must be one JSON object; fix or remove the line");
  } catch (const nlohmann::json::out_of_range&) {
    bad_line(file, number, "contains a number that is too large: " + excerpt(line), "fix or remove the line");
  }
  if (!record.is_object()) bad_line(file, number, "is not a JSON object: " + excerpt(line), "write {\"...\": ...}");
  return record;
}

const JsonRecord* find_field(const JsonRecord& record, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = record.find(name); found != record.end()) return &*found;
  }
  return nullptr;
}

std::string id_field(const JsonRecord& record, std::initializer_list<const char*> names,
                     const std::filesystem::path& file, std::int64_t number) {
  const JsonRecord* value = find_field(record, names);
  const std::string name = *names.begin();
  if (value == nullptr) bad_line(file, number, fmt::format("has no field \"{}\"", name), "add it, or remove the line");
  std::string id;
  if (value->is_string()) {
    id = value->get<std::string>();
  } else if (value->is_number_integer()) {
    id = value->dump();
  } else {
    bad_line(file, number, fmt::format("\"{}\" is neither a string nor a whole number", name), "write it as a string");
  }
  if (is_blank(id)) bad_line(file, number, fmt::format("\"{}\" is empty", name), "give it a value, or remove the line");
  return id;
}

}  // namespace relucent::index_tools
