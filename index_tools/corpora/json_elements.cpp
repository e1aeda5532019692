#include "index_tools/corpora/json_elements.h"

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kMaxElement = 64 * 1024 * 1024;
constexpr int kEnd = -1;

using Marks = std::array<bool, 256>;

constexpr Marks marks_of(std::string_view characters) {
  Marks marks{};
  for (const char c : characters) marks[static_cast<unsigned char>(c)] = true;
  return marks;
}

constexpr Marks kWithinString = marks_of("\"\\\n"), kOutsideString = marks_of("\"{}[]\n");

bool is_white(int c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

JsonElements::JsonElements(ByteStream& bytes, const std::string& part, ReadReport& report, std::string member)
    : bytes_(bytes), part_(part), report_(report), member_(std::move(member)), buffer_(kReadBytes) {}

void JsonElements::fail(const std::string& problem) const {
  throw Error(ErrorKind::invalid_data, fmt::format("{}:{}", part_, line_),
              fmt::format("{} (after element {})", problem, number_), "download or recreate the file");
}

int JsonElements::peek() {
  if (begin_ == end_) {
    begin_ = 0;
    end_ = bytes_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[begin_]);
}

char JsonElements::take() {
  const char c = buffer_[begin_++];
  if (c == '\n') ++line_;
  return c;
}

void JsonElements::skip_white() {
  while (is_white(peek())) take();
}

// Number of buffered bytes that read_value() can skip. It looks at quotes, at backslashes within strings, and at
// brackets outside.
std::size_t JsonElements::span_within(bool in_string) const {
  const Marks& marks = in_string ? kWithinString : kOutsideString;
  std::size_t i = begin_;
  while (i < end_ && !marks[static_cast<unsigned char>(buffer_[i])]) ++i;
  return i - begin_;
}

// One value of any kind. It ends with its closing bracket or quote; a number or a word ends before the next separator.
std::string JsonElements::read_value() {
  std::string value;
  int depth = 0;
  bool in_string = false;
  for (int c = peek();; c = peek()) {
    if (c == kEnd) {
      if (depth == 0 && !in_string) return value;
      fail("the text ends in the middle of a value");
    }
    if (value.size() > kMaxElement) fail("an element is larger than 64 MiB: a bracket or a quote is missing");
    if (!in_string && depth == 0 && !value.empty() && (c == ',' || c == ']' || c == '}' || c == ':' || is_white(c)))
      return value;
    const std::size_t plain = span_within(in_string);
    if (plain > 0 && (in_string || depth > 0)) {
      value.append(buffer_.data() + begin_, plain);
      begin_ += plain;
      continue;
    }
    value += take();
    if (in_string) {
      if (c == '\\' && peek() != kEnd) value += take();
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
    if (depth <= 0 && !in_string && (c == '"' || c == '}' || c == ']')) return value;
  }
}

// Goes to the first element of the outermost object's array.
void JsonElements::find_member() {
  if (peek() != '{') fail("the text is not a JSON object");
  take();
  for (;;) {
    skip_white();
    if (peek() != '"') fail(fmt::format("the JSON object has no member \"{}\"", member_));
    const std::string name = read_value();
    skip_white();
    if (peek() != ':') fail("a member of the JSON object has no value");
    take();
    skip_white();
    if (name == fmt::format("\"{}\"", member_)) {
      if (peek() != '[') fail(fmt::format("the member \"{}\" is not an array", member_));
      return;
    }
    read_value();
    skip_white();
    if (peek() == ',') take();
  }
}

void JsonElements::enter() {
  entered_ = true;
  skip_white();
  if (peek() == 0xEF) {  // a byte order mark
    for (int i = 0; i < 3 && peek() >= 0x80; ++i) take();
    skip_white();
  }
  if (!member_.empty()) find_member();
  in_array_ = peek() == '[';
  if (in_array_) take();
}

bool JsonElements::next(std::string& element) {
  if (ended_) return false;
  if (!entered_) enter();
  for (skip_white(); peek() == ','; skip_white()) take();
  if (peek() == kEnd) {
    if (in_array_) fail("the text ends in the middle of the array");
    return false;
  }
  if (in_array_ && peek() == ']') {
    ended_ = true;
    return false;
  }
  element = read_value();
  ++number_;
  report_.repair(element);
  return true;
}

}  // namespace relucent::index_tools
