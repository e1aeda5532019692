#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace relucent {

/// The property Grapheme_Cluster_Break of Unicode's UAX #29.
enum class BreakClass : std::uint8_t {
  other,
  cr,
  lf,
  control,
  extend,
  zwj,
  spacing_mark,
  prepend,
  regional_indicator,
  l,
  v,
  t,
  lv,
  lvt
};

/// What the parts of Hugging Face's tokenizers library other than BERT's do with each code point. Its tables are of
/// several Unicode versions, so no Unicode library reproduces them all. Immutable, thread-safe.
class CharacterTable {
 public:
  /// Bits; generate_character_table.py lists which part of the library uses which.
  enum Property : std::uint16_t {
    letter = 1,
    number = 2,
    word = 4,
    numeric = 8,
    punctuation = 16,
    mark = 32,
    dropped = 64,
    nonspacing = 128
  };

  static const CharacterTable& instance();

  // For any code point up to U+10FFFF.
  bool has(char32_t c, Property property) const noexcept { return (entry(c).properties & property) != 0; }
  BreakClass break_class(char32_t c) const noexcept {
    return static_cast<BreakClass>(entry(c).properties >> kBreakShift & 0xF);
  }
  bool is_pictographic(char32_t c) const noexcept { return (entry(c).properties & kPictographic) != 0; }
  /// The lower-case form; of U+0130, which has two code points, the first.
  char32_t lower(char32_t c) const noexcept { return c + static_cast<char32_t>(entry(c).to_lower); }

 private:
  struct Entry {
    std::uint16_t properties = 0;
    std::int32_t to_lower = 0;  // distance

    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  static constexpr int kBlockBits = 8;
  static constexpr std::size_t kBlockSize = std::size_t{1} << kBlockBits;
  static constexpr int kBreakShift = 8;
  static constexpr std::uint16_t kPictographic = 1 << 12;

  CharacterTable();
  const Entry& entry(char32_t c) const noexcept { return blocks_[block_of_[c >> kBlockBits] + (c & (kBlockSize - 1))]; }

  std::array<std::uint32_t, 0x110000 / kBlockSize> block_of_{};  // offset of each block in blocks_
  std::vector<Entry> blocks_;
};

/// Unicode's White_Space, which has not changed since version 6.3.
constexpr bool is_white_space(char32_t c) noexcept {
  return c == ' ' || (c >= 0x9 && c <= 0xD) ||
         (c >= 0x85 && (c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
                        c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000));
}

}  // namespace relucent
