#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// Appends the text of markup that is read as XML, ignoring errors: the result of BeautifulSoup(markup,
/// "lxml-xml").get_text(). Hence only the first element counts, nothing is appended if text or an entity precedes it,
/// and entities other than XML's five are dropped. `markup` is UTF-8; nothing outside it is ever read.
/// Throws Error `invalid_data` for elements with more than kMaxXmlAttributes attributes, and for a document type that
/// declares attributes.
void append_xml_text(std::string_view markup, std::string& text);

}  // namespace relucent::index_tools
