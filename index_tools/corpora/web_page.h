#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// A web page in UTF-8, its charset found as ir_datasets does: the first "charset=" in the page, else in the
/// HTTP headers, else UTF-8; unknown ones are passed over.
std::string decode_html(std::string_view page, std::string_view headers);

/// The text of a page's title and body, as ir_datasets gives it for GOV, GOV2 and the ClueWebs. Throws as
/// html_fields().
std::string text_of_page(std::string_view page, std::string_view headers);

/// An HTTP response's headers and its body, which starts after the first empty line.
struct HttpResponse {
  std::string_view headers, body;
};
HttpResponse split_http(std::string_view response);

}  // namespace relucent::index_tools
