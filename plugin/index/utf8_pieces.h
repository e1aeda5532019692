#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// Appends a text that comes in pieces, as well_formed_utf8() would give it of the whole: a character may lie across
/// two pieces.
class WellFormedText {
 public:
  /// Appends to `text`, which must outlive it.
  explicit WellFormedText(std::string& text) : text_(text) {}
  void add(std::string_view piece);
  /// After the last piece.
  void end();

 private:
  std::string& text_;
  std::string rest_;  ///< the bytes of a character that may not be complete yet
};

/// Makes `text` ready for one more value of a stored field: begins it, or appends what stands between two values.
void begin_stored_value(std::optional<std::string>& text, std::size_t bytes);

}  // namespace relucent
