#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent::index_tools {

/// An HTML page whose start tags have few different names of attributes, for which libxml2 gives the same elements and
/// texts; nothing if the page is such a page. libxml2 compares each attribute of a tag with those before it that have
/// other names, so the cost of many different names would grow with their square. From the 65th attribute of a tag on,
/// each name becomes a run of `a` of the same length.
std::optional<std::string> with_few_attribute_names(std::string_view page);

}  // namespace relucent::index_tools
