#include "server/refusal.h"

#include <string_view>

#include "server/answer.h"

namespace relucent::server {
namespace {

bool may_precede_path(char c) { return std::string_view(" \t\n\"'`([{<=:,;").find(c) != std::string_view::npos; }
bool ends_path(char c) { return std::string_view(" \t\n\"'`)]}>,;").find(c) != std::string_view::npos; }

constexpr int kWordsInNames = 4;  // of a name with spaces, those without a '/'

std::size_t end_of_word(std::string_view text, std::size_t begin) {
  while (begin < text.size() && !ends_path(text[begin])) ++begin;
  return begin;
}

/// The end of the path that begins at `begin`; `begin` if none does. A path begins with '/', './', '../' or '~/'. A '/'
/// by itself divides. If one of the next words has a '/' inside, the words up to it belong to names with spaces.
std::size_t end_of_path(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin);
  if (!rest.starts_with("/") && !rest.starts_with("./") && !rest.starts_with("../") && !rest.starts_with("~/")) {
    return begin;
  }
  std::size_t end = end_of_word(text, begin);
  if (end == begin + 1) return begin;
  std::size_t word_end = end;
  for (int words = 0; words <= kWordsInNames; ++words) {
    if (word_end >= text.size() || text[word_end] != ' ' || text[word_end - 1] == ':') break;
    const std::size_t word = word_end + 1;
    word_end = end_of_word(text, word);
    const std::size_t divider = text.substr(word, word_end - word).find('/');
    if (divider == 0 || word_end == word) break;
    if (divider == std::string_view::npos) continue;
    end = word_end;
    words = 0;
  }
  return end;
}

}  // namespace

std::string without_paths(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const bool at_start = i == 0 || may_precede_path(text[i - 1]);
    const std::size_t end = at_start ? end_of_path(text, i) : i;
    if (end == i) {
      result += text[i++];
      continue;
    }
    std::string_view path = std::string_view(text).substr(i, end - i);
    // A colon after the path belongs to the sentence: "FILE:3:1: what is wrong".
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    result += path.substr(path.rfind('/') + 1);
    i = end;
  }
  return result;
}

Refusal refusal_of(const Error& error) {
  const std::string message = without_paths(error.what());
  switch (error.kind()) {
    case ErrorKind::deadline: return {504, "Timeout", message};
    case ErrorKind::usage: return not_valid(message);
    case ErrorKind::interrupted: return {503, "Unhealthy", "the server is ending"};
    case ErrorKind::invalid_data:
    case ErrorKind::io:
    case ErrorKind::unsupported:
    case ErrorKind::device:
    case ErrorKind::internal: break;
  }
  return {424, "Backend", message};
}

HttpResponse answer_of(const Refusal& refusal) {
  const std::string_view message = refusal.what();
  HttpResponse response{
      refusal.status(),
      JsonObject().text("error", message).text("error_type", refusal.type()).text("message", message).str()};
  response.note = message;
  if (refusal.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (refusal.status() == 429 || refusal.status() == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace relucent::server
