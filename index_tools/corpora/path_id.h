#pragma once

#include <string>
#include <string_view>

namespace relucent::index_tools {

/// The id of a document that is a file: its path, with '%', white space, control characters and bytes that are not
/// UTF-8 percent-encoded, so that different paths have different ids.
std::string id_of_path(std::string_view path);

}  // namespace relucent::index_tools
