#pragma once

#include <string>
#include <string_view>

namespace relucent::server {

/// Writes a JSON object member by member. A tree of nlohmann/json needs memory even to be destroyed; this needs none,
/// so that an answer about a lack of memory does not end the process.
class JsonObject {
 public:
  /// Malformed UTF-8 becomes U+FFFD.
  JsonObject& text(std::string_view name, std::string_view value);
  /// Finite; whole numbers are written without a fraction.
  JsonObject& number(std::string_view name, double value);
  JsonObject& flag(std::string_view name, bool value);

  std::string str() const { return text_ + "}"; }

 private:
  void begin(std::string_view name);

  std::string text_ = "{";
};

}  // namespace relucent::server
