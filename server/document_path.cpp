#include "server/document_path.h"

#include <fmt/core.h>

#include <algorithm>

namespace relucent::server {
namespace {

constexpr std::string_view kPrefix = "/doc/";

/// RFC 3986, 2.3.
bool is_unreserved(char c) {
  constexpr std::string_view marks = "-._~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         marks.find(c) != std::string_view::npos;
}

}  // namespace

std::string document_path(std::string_view id) {
  std::string path(kPrefix);
  for (const char c : id) {
    if (is_unreserved(c)) {
      path += c;
    } else {
      path += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return path;
}

std::string_view index_in_query(std::string_view query) {
  constexpr std::string_view key = "index=";
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (query.starts_with(key)) return query.substr(key.size(), end - key.size());
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return {};
}

}  // namespace relucent::server
