#include "plugin/lucene/queries/syntax_problem.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "base/utf8.h"

namespace relucent {
namespace {

constexpr std::size_t kShown = 24;  // bytes of the query

// What the query opens and never closes; '\0' if there is nothing.
char never_closed(std::string_view query) {
  std::string open;
  for (std::size_t i = 0; i < query.size(); ++i) {
    const char c = query[i];
    const bool in_phrase = !open.empty() && open.back() == '"';
    if (c == '\\') {
      ++i;
    } else if (c == '"') {
      in_phrase ? open.pop_back() : open.push_back(c);
    } else if (!in_phrase && (c == '(' || c == '[' || c == '{')) {
      open.push_back(c);
    } else if (!in_phrase && !open.empty() && (c == ')' || c == ']' || c == '}')) {
      open.pop_back();
    }
  }
  return open.empty() ? '\0' : open.back();
}

std::string end_problem(std::string_view query) {
  switch (never_closed(query)) {
    case '"': return "a quotation mark is never closed";
    case '(': return "a parenthesis is never closed";
    case '[':
    case '{': return "a range is never closed: write [from TO to]";
    default: break;
  }
  return query.ends_with('\\') ? "ends with a \\, which escapes nothing" : "ends where a word is expected";
}

std::optional<std::size_t> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t number = 0;
  const char* const begin = text.data() + at + words.size();
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::string syntax_problem(std::string_view query, std::string_view message) {
  // "Cannot parse 'QUERY': "
  const std::string prefix = fmt::format("Cannot parse '{}': ", query);
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  const bool lexical = message.starts_with("Lexical error");
  if (!lexical && !message.starts_with("Encountered ")) return std::string(message);
  if (message.starts_with("Encountered \"<EOF>\"") || message.find("Encountered:<EOF>") != std::string_view::npos ||
      message.find("Encountered: <EOF>") != std::string_view::npos) {
    return end_problem(query);
  }
  const auto line = number_after(message, "at line "), column = number_after(message, "column ");
  if (!line || !column || *line != 1) return "has a character where the syntax has none";
  // JavaCC counts from 0 when it expected another token, and from 1 when there is no token.
  const std::size_t place = *column - (lexical && *column > 0 ? 1 : 0);
  std::string_view there = query.substr(std::min(query.size(), bytes_of_code_points(query, place)));
  there = there.substr(0, there.find(' ', 1));
  return fmt::format("\"{}\" is not expected at character {}", utf8_prefix(there, kShown), place + 1);
}

}  // namespace relucent
