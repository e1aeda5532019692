#include "server/tokens.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "relucent/error.h"

namespace relucent::server {
namespace {

/// Whether the texts are equal, by as many steps as `given` is long.
bool equal_in_constant_time(std::string_view given, std::string_view token) noexcept {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    // Beyond the token's end its first character is compared, for the time alone.
    const char expected = token[i < token.size() ? i : 0];
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(expected);
  }
  return difference == 0;
}

bool has_scheme(std::string_view authorization) noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() < scheme.size()) return false;
  return std::equal(scheme.begin(), scheme.end(), authorization.begin(), [](char expected, char given) {
    return expected == (given >= 'A' && given <= 'Z' ? given + 32 : given);
  });
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  struct stat status {};
  if (!in || ::stat(file.c_str(), &status) != 0) {
    throw Error(ErrorKind::io, file, fmt::format("cannot be read: {}", std::strerror(errno)),
                "check [server] token_file");
  }
  if ((status.st_mode & S_IROTH) != 0) {
    throw Error(ErrorKind::usage, file, "has tokens, but everybody on this machine may read it", "chmod o-r it");
  }
  std::vector<std::string> tokens;
  for (std::string line; std::getline(in, line);) {
    if (const std::string_view token = trim(line); !token.empty()) tokens.emplace_back(token);
  }
  if (tokens.empty()) {
    throw Error(ErrorKind::usage, file, "has no token", "write one per line, for example with `openssl rand -hex 32`");
  }
  return tokens;
}

}  // namespace

Tokens::Tokens(std::vector<std::string> tokens, std::string_view source) : tokens_(std::move(tokens)) {
  for (const std::string& token : tokens_) {
    const bool fits = !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
    if (!fits) throw Error(ErrorKind::usage, source, "has a token with other characters than ASCII's visible ones");
  }
}

Tokens Tokens::load(const std::string& file) {
  if (!file.empty()) return Tokens(lines_of(file), file);
  const char* value = std::getenv("RELUCENT_TOKEN");
  if (value == nullptr || *value == '\0') return {};
  return Tokens({value}, "RELUCENT_TOKEN");
}

std::optional<std::size_t> Tokens::find(std::string_view authorization) const noexcept {
  if (!has_scheme(authorization)) return std::nullopt;
  const std::string_view given = trim(authorization.substr(7));
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (equal_in_constant_time(given, tokens_[i])) found = i;
  }
  return found;
}

}  // namespace relucent::server
