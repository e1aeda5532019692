#include "server/json_object.h"

#include <fmt/core.h>

#include <iterator>

#include "server/answer.h"

namespace relucent::server {

void JsonObject::begin(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  append_json_string(text_, name);
  text_ += ':';
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  begin(name);
  append_json_string(text_, value);
  return *this;
}

JsonObject& JsonObject::number(std::string_view name, double value) {
  begin(name);
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

JsonObject& JsonObject::flag(std::string_view name, bool value) {
  begin(name);
  text_ += value ? "true" : "false";
  return *this;
}

}  // namespace relucent::server
