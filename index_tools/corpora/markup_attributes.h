#pragma once

#include <string_view>

namespace relucent::index_tools {

/// Whether a parser that compares each attribute of a tag with the tag's others, as libxml2 does, would make more than
/// `most` comparisons. Counts what may be attributes in HTML or XML, in one pass.
bool has_too_many_attributes(std::string_view markup, double most);

/// The comparisons that libxml2 makes in XML in about a second.
inline constexpr double kMaxXmlAttributesLookedAt = 1e8;

}  // namespace relucent::index_tools
