#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// The elements whose text makes one field; none: all text that falls into no field before it.
using HtmlField = std::vector<std::string_view>;

/// The text of each field of an HTML page, as ir_datasets' sax_html_parser() gives it with an lxml on the
/// same version of libxml2: what is in script, style and noscript is dropped, entities are resolved, tabs
/// become spaces, runs of spaces one space, runs of lines one line end, and the ends are stripped. Nothing is
/// loaded, printed or expanded.
///
/// `page` is UTF-8. Throws Error `invalid_data` without a place for a page that would take libxml2 minutes:
/// elements nested too deep, tags with too many attributes.
std::vector<std::string> html_fields(std::string_view page, const std::vector<HtmlField>& fields);

/// Without white space as Python's str.strip() knows it at both ends.
std::string_view stripped_text(std::string_view utf8);

}  // namespace relucent::index_tools
