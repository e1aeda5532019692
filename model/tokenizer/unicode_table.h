#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace relucent {

/// How BERT's normalizer (clean, spaces around CJK, NFD, no accents, lower case) and splitter treat one code
/// point.
enum class CharacterKind : std::uint8_t {
  letter,    ///< part of a word, as `value`
  alone,     ///< a word of its own, as `value`
  space,     ///< ends a word
  drop,      ///< ignored
  sequence,  ///< several code points: UnicodeTable::sequence()
};

struct CharacterAction {
  CharacterKind kind;
  char32_t value;
};

/// The frozen Unicode tables of Hugging Face's BERT tokenizer (about Unicode 8), which no current Unicode
/// library reproduces. Immutable, thread-safe.
class UnicodeTable {
 public:
  static const UnicodeTable& instance();

  /// For any code point up to U+10FFFF.
  CharacterAction look_up(char32_t c) const noexcept {
    const std::uint32_t packed = blocks_[block_of_[c >> kBlockBits] + (c & (kBlockSize - 1))];
    // The value is the distance from c, in the upper 24 bits.
    const auto distance = static_cast<std::int32_t>(packed) >> 8;
    return {static_cast<CharacterKind>(packed & 0xFF), c + static_cast<char32_t>(distance)};
  }

  /// The expansion of a code point of kind `sequence`: code points to keep, or U+0020 for the end of a word.
  /// `storage` holds computed ones.
  std::span<const char32_t> sequence(char32_t c, CharacterAction action,
                                     std::array<char32_t, 3>& storage) const noexcept;

 private:
  static constexpr int kBlockBits = 8;
  static constexpr std::size_t kBlockSize = std::size_t{1} << kBlockBits;

  UnicodeTable();

  std::array<std::uint32_t, 0x110000 / kBlockSize> block_of_{};  // offset of each block in blocks_
  std::vector<std::uint32_t> blocks_;                            // distance << 8 | kind
};

}  // namespace relucent
