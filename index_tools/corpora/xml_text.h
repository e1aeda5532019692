#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// Appends the text of markup that is read as XML with errors passed over: what BeautifulSoup(markup,
/// "lxml-xml").get_text() gives. Hence only the first element counts, nothing where text or an entity stands before it,
/// and names of entities beyond XML's five stand for nothing. `markup` is UTF-8; nothing outside it is ever read.
void append_xml_text(std::string_view markup, std::string& text);

}  // namespace relucent::index_tools
