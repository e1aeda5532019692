#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace relucent {

/// A normalization form of Unicode 9, whose tables Hugging Face's tokenizers library uses: newer characters stay as
/// they are. Immutable, thread-safe.
class UnicodeForm {
 public:
  enum class Name : std::uint8_t { nfc, nfd, nfkc, nfkd };
  /// "NFC", "NFD", "NFKC" or "NFKD".
  static std::optional<Name> named(std::string_view name);

  explicit UnicodeForm(Name name);

  /// `text` is well-formed UTF-8.
  void apply(std::string& text) const;

 private:
  class Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace relucent
