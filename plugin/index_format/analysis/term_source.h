#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace relucent::analysis {

/// A term of a text, as it is indexed.
struct Term {
  std::string_view text;                ///< UTF-8
  std::uint64_t hash = 0;               ///< hash_of(text)
  std::int32_t position_increment = 1;  ///< 0: at the position of the previous term
};

/// A hash with well-mixed bits that depends only on the text.
std::uint64_t hash_of(std::string_view text) noexcept;

/// Splits texts into index terms. One object per thread.
class TermSource {
 public:
  virtual ~TermSource() = default;
  /// The terms of a text of well-formed UTF-8, valid until the next call.
  virtual std::span<const Term> terms_of(std::string_view text) = 0;
};

}  // namespace relucent::analysis
