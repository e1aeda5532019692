#pragma once

#include <span>
#include <string_view>

namespace relucent::server {

/// A file of server/page, compiled into the program.
struct PageFile {
  std::string_view path;  ///< "/" for index.html, otherwise "/" and the file's name
  std::string_view type;
  std::string_view content;
};

/// Every file of server/page; server/embed_page.cmake writes this function.
std::span<const PageFile> page_files();

/// The page and what it loads come from this server alone.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

}  // namespace relucent::server
