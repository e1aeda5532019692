#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relucent {

/// A member of a JSON object, as it is written.
struct JsonMember {
  std::string name;
  std::string_view text;  ///< name, colon and value
};

/// The members of a well-formed JSON object in their order; nothing for other text. Values keep their spelling, so that
/// long numbers lose no digits. Thread-safe.
std::vector<JsonMember> json_members(std::string_view object);

/// The object with these members; empty if there are none.
std::string json_object_of(const std::vector<JsonMember>& members);

}  // namespace relucent
