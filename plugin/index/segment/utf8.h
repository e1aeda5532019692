#pragma once

#include <string>
#include <string_view>

namespace relucent::segment {

/// `text` itself where it is well-formed UTF-8, else a copy in `room` with each malformed sequence replaced by U+FFFD.
std::string_view well_formed(std::string_view text, std::string& room);
/// The same for an id, in which U+FFFF becomes U+FFFD too: Lucene++ ends its buffers with U+FFFF.
std::string_view well_formed_id(std::string_view id, std::string& room);
/// Code points of well-formed UTF-8.
std::size_t code_points(std::string_view text);

}  // namespace relucent::segment
