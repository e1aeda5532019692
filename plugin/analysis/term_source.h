#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace relucent::analysis {

/// A term of a text, as it is indexed.
struct Term {
  std::string_view text;                ///< UTF-8
  std::uint64_t hash = 0;               ///< hash_of(text)
  std::int32_t position_increment = 1;  ///< 0: in the same place as the term before
};

/// Well mixed bits, the same for the same text.
std::uint64_t hash_of(std::string_view text) noexcept;

/// Splits texts into index terms. One object per thread.
class TermSource {
 public:
  virtual ~TermSource() = default;
  /// The terms of a text of well-formed UTF-8, valid until the next call.
  virtual std::span<const Term> terms_of(std::string_view text) = 0;
};

}  // namespace relucent::analysis
