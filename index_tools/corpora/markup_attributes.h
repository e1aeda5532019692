#pragma once

#include <string_view>

namespace relucent::index_tools {

/// Whether a parser that compares each attribute of a tag with the tag's others, as libxml2 does, would make more than
/// `most` comparisons. Counts what may be attributes in HTML or XML, in one pass.
bool has_too_many_attributes(std::string_view markup, double most);

/// XML elements may have this many attributes, declarations of namespaces included: libxml2 compares each with the
/// element's others.
inline constexpr int kMaxXmlAttributes = 256;

/// Whether a start tag of the XML document may have more than kMaxXmlAttributes. Follows the grammar of start tags from
/// every '<', so nothing that precedes a tag hides it, and what only looks like attributes does not count.
bool has_too_many_xml_attributes(std::string_view xml);

}  // namespace relucent::index_tools
