#pragma once

#include <optional>
#include <string>
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

/// An HTML page whose start tags have few different names of attributes, for which libxml2 gives the same elements and
/// texts; nothing if the page is such a page. libxml2 compares each attribute of a tag with those before it that have
/// other names, so the cost of many different names would grow with their square. From the 65th attribute of a tag on,
/// each name becomes a run of `a` of the same length.
std::optional<std::string> with_few_attribute_names(std::string_view page);

}  // namespace relucent::index_tools
