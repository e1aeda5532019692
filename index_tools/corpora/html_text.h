#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// The elements whose text forms one field; empty: all text that belongs to no earlier field.
using HtmlField = std::vector<std::string_view>;

/// The text of each field of an HTML page, equal to that of ir_datasets' sax_html_parser() with an lxml on the same
/// version of libxml2: script, style and noscript are dropped, entities resolved, tabs turned into spaces, runs of
/// spaces and of line ends collapsed, and both ends stripped. Nothing is loaded, printed or expanded.
///
/// `page` is UTF-8. Throws Error `invalid_data` without a place for a page that would keep libxml2 busy for minutes:
/// elements nested too deep, tags with too many attributes.
std::vector<std::string> html_fields(std::string_view page, const std::vector<HtmlField>& fields);

/// Strips white space from both ends, as Python's str.strip() does.
std::string_view stripped_text(std::string_view utf8);

}  // namespace relucent::index_tools
