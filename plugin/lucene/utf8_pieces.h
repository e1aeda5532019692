#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// Appends a text given in pieces, with the same result as well_formed_utf8() of the whole text, even if a character is
/// split across pieces.
class WellFormedText {
 public:
  /// Appends to `text`, which must outlive it.
  explicit WellFormedText(std::string& text) : text_(text) {}
  void add(std::string_view piece);
  /// After the last piece.
  void end();

 private:
  std::string& text_;
  std::string rest_;  ///< the bytes of an incomplete character
};

/// Prepares `text` for another value of a stored field: creates it, or appends the separator.
void begin_stored_value(std::optional<std::string>& text, std::size_t bytes);

}  // namespace relucent
