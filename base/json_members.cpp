#include "base/json_members.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace relucent {
namespace {

constexpr std::string_view kWhite = " \t\r\n";

/// One past the end of the string that starts at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
  return std::min(at + 1, text.size());
}

/// The end of the value that starts at `at`: the next comma or closing bracket of its own level.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
}

std::string name_in(std::string_view quoted) {
  if (quoted.find('\\') == std::string_view::npos) return std::string(quoted.substr(1, quoted.size() - 2));
  const auto name = nlohmann::json::parse(quoted, nullptr, false);
  return name.is_string() ? name.get<std::string>() : std::string();
}

}  // namespace

std::vector<JsonMember> json_members(std::string_view object) {
  object = trim(object, kWhite);
  if (!object.starts_with('{')) return {};
  std::vector<JsonMember> members;
  for (std::size_t at = 1;;) {
    at = object.find('"', at);
    if (at == std::string_view::npos) return members;
    const std::size_t name_end = end_of_string(object, at), end = end_of_value(object, name_end);
    if (name_end - at < 2) return members;
    members.push_back({name_in(object.substr(at, name_end - at)), trim(object.substr(at, end - at), kWhite)});
    at = end;
  }
}

std::string json_object_of(const std::vector<JsonMember>& members) {
  if (members.empty()) return {};
  return "{" + join(members, ", ", [](const JsonMember& member) { return std::string(member.text); }) + "}";
}

}  // namespace relucent
