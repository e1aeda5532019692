#include "base/nesting.h"

#include <algorithm>
#include <vector>

namespace relucent {
namespace {

/// Scans a TOML text, skipping strings and comments, and counts the nesting levels at each position: the parts of the
/// last header, the open brackets, and the dots in the keys before each bracket and in the current key.
class TomlLevels {
 public:
  explicit TomlLevels(std::string_view text) : text_(text) {}

  std::optional<std::size_t> first_too_deep() {
    for (; at_ < text_.size(); ++at_) {
      use(text_[at_]);
      if (header_ + keys_ + open_.size() + dots_ > kMaxNesting) return at_;
    }
    return std::nullopt;
  }

 private:
  void use(char c) {
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (c == '\n') return end_line();
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      return;
    }
    if (line_is_new_ && c == '[') {
      in_header_ = true;
      header_ = 1;
    }
    line_is_new_ = false;
    if (c == '"' || c == '\'') return pass_string(c);
    if (in_header_) {
      header_ += c == '.' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      open_.push_back(dots_);
      keys_ += dots_;
      dots_ = 0;
    } else if ((c == ']' || c == '}') && !open_.empty()) {
      dots_ = open_.back();
      keys_ -= dots_;
      open_.pop_back();
    } else if (c == '.') {
      ++dots_;
    } else if (c == ',') {
      dots_ = 0;
    }
  }

  // A line ends a statement unless a bracket is open.
  void end_line() {
    if (!open_.empty()) return;
    dots_ = 0;
    in_header_ = false;
    line_is_new_ = true;
  }

  // Moves to the closing quote, or to the end of the line; only triple-quoted strings may span lines.
  void pass_string(char quote) {
    const std::string_view long_quotes = quote == '"' ? "\"\"\"" : "'''";
    const bool long_string = text_.substr(at_).starts_with(long_quotes);
    const std::string_view closing = long_quotes.substr(0, long_string ? 3 : 1);
    for (at_ += closing.size(); at_ < text_.size(); ++at_) {
      if (text_.substr(at_).starts_with(closing)) break;
      if (text_[at_] == '\n' && !long_string) {
        --at_;
        return;
      }
      if (text_[at_] == '\\' && quote == '"') ++at_;
    }
    at_ += closing.size() - 1;
    // Up to two more quotes before the closing ones belong to the string.
    for (int own = 0; long_string && own < 2 && at_ + 1 < text_.size() && text_[at_ + 1] == quote; ++own) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t header_ = 0;         // parts of the last header
  std::vector<std::size_t> open_;  // for each open bracket: the dots of the key before it
  std::size_t keys_ = 0;           // their sum
  std::size_t dots_ = 0;           // of the current key
  bool line_is_new_ = true, in_header_ = false;
};

}  // namespace

std::optional<std::size_t> too_deep_in_json(std::string_view text) noexcept {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return at;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> too_many_in_json(std::string_view text, std::size_t most) noexcept {
  if (text.size() < most) return std::nullopt;  // each is at least one byte
  constexpr std::string_view begins_value = "[{,:";
  std::size_t count = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (begins_value.find(text[i]) != std::string_view::npos && ++count > most) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> too_deep_in_toml(std::string_view text) { return TomlLevels(text).first_too_deep(); }

}  // namespace relucent
