#pragma once

#include <string>
#include <string_view>

namespace relucent::server {

/// Writes a flat JSON object member by member, in no more memory than its text needs.
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
