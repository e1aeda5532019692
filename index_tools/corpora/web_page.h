#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// Converts a web page to UTF-8. Finds the charset as ir_datasets does: the first "charset=" in the page, else in the
/// HTTP headers, else UTF-8; unknown charsets are ignored.
std::string decode_html(std::string_view page, std::string_view headers);

/// The text of a page's title and body, as in ir_datasets for GOV, GOV2 and the ClueWebs. Throws like
/// html_fields().
std::string text_of_page(std::string_view page, std::string_view headers);

/// The text of an HTML file: the title, a space, and the rest of the page, or the page alone if it has no title. A byte
/// order mark or the page determines the charset, else it is UTF-8. Throws like html_fields().
std::string text_of_html_file(std::string_view page);

/// An HTTP response's headers and its body, which starts after the first empty line.
struct HttpResponse {
  std::string_view headers, body;
};
HttpResponse split_http(std::string_view response);

}  // namespace relucent::index_tools
