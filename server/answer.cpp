#include "server/answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json_builder.h"

namespace relucent::server {
namespace {

/// A number or a string as nlohmann/json writes it; without a tree, it needs no memory to be destroyed.
template <typename Value>
std::string dumped(const Value& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  if (!std::ranges::all_of(text, is_plain)) {
    out += dumped(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

static_assert(std::is_nothrow_move_constructible_v<Answer>);  // else a vector that grows copies trees

Answer::Answer(const std::vector<std::string>& texts) : value_(Elements(texts.begin(), texts.end())) {}

Answer::Answer(std::initializer_list<Part> parts) {
  const bool is_members = std::ranges::all_of(parts, [](const Part& part) { return part.value_.is_named(); });
  Elements elements = taken(parts);
  if (!is_members) {
    value_ = std::move(elements);
    return;
  }
  Members members;
  members.reserve(elements.size());
  for (Answer& element : elements) {
    members.push_back({std::move(std::get<std::string>(element[std::size_t{0}].value_)), std::move(element.back())});
  }
  value_ = std::move(members);
}

Answer Answer::array(std::initializer_list<Part> elements) {
  Answer answer;
  answer.value_ = taken(elements);
  return answer;
}

Answer Answer::object() {
  Answer answer;
  answer.value_ = Members();
  return answer;
}

Answer Answer::verbatim(std::string json) {
  Answer answer;
  answer.value_ = Verbatim{std::move(json)};
  return answer;
}

Answer Answer::parse(std::string_view text) {
  Answer answer;
  JsonBuilder<Answer> builder(answer);
  nlohmann::json::sax_parse(text, &builder);
  if (builder.problem()) answer = nullptr;
  return answer;
}

std::size_t Answer::size() const noexcept {
  if (const auto* elements = std::get_if<Elements>(&value_)) return elements->size();
  if (const auto* members = std::get_if<Members>(&value_)) return members->size();
  return 0;
}

Answer& Answer::operator[](std::string_view name) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Members();
  auto& members = std::get<Members>(value_);
  const auto found = std::ranges::find(members, name, &Member::name);
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{std::string(name), {}}).value;
}

void Answer::add(std::string name, Answer value) {
  std::get<Members>(value_).push_back({std::move(name), std::move(value)});
}

void Answer::update(Answer other) {
  for (Member& member : std::get<Members>(other.value_)) (*this)[member.name] = std::move(member.value);
}

void Answer::erase(std::string_view name) {
  std::erase_if(std::get<Members>(value_), [&](const Member& member) { return member.name == name; });
}

void Answer::push_back(Answer value) { std::get<Elements>(value_).push_back(std::move(value)); }

Answer::Elements Answer::taken(std::initializer_list<Part> parts) {
  Elements elements;
  elements.reserve(parts.size());
  for (const Part& part : parts) elements.push_back(std::move(part.value_));
  return elements;
}

/// Whether it is a name and a value in braces.
bool Answer::is_named() const noexcept {
  const auto* elements = std::get_if<Elements>(&value_);
  return elements != nullptr && elements->size() == 2 && std::holds_alternative<std::string>(elements->front().value_);
}

void Answer::write(std::string& out) const {
  if (const auto* elements = std::get_if<Elements>(&value_)) {
    out += '[';
    for (const Answer& element : *elements) {
      if (&element != elements->data()) out += ',';
      element.write(out);
    }
    out += ']';
  } else if (const auto* members = std::get_if<Members>(&value_)) {
    out += '{';
    for (const Member& member : *members) {
      if (&member != members->data()) out += ',';
      append_json_string(out, member.name);
      out += ':';
      member.value.write(out);
    }
    out += '}';
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    append_json_string(out, *text);
  } else if (const auto* json = std::get_if<Verbatim>(&value_)) {
    out += json->json;
  } else if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    fmt::format_to(std::back_inserter(out), "{}", *whole);
  } else if (const auto* count = std::get_if<std::uint64_t>(&value_)) {
    fmt::format_to(std::back_inserter(out), "{}", *count);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    out += dumped(*number);
  } else {
    out += "null";
  }
}

std::string to_text(const Answer& answer) {
  std::string text;
  answer.write(text);
  return text;
}

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
