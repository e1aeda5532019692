#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relucent {

/// SentencePiece's table of replacements: its number of bytes, a double-array trie of 32-bit little-endian units
/// (darts-clone's form) over the texts to replace, then the replacements, each ended by a zero byte. Immutable,
/// thread-safe.
class PrecompiledCharsmap {
 public:
  /// No replacement is longer: those of Unicode's normal forms have up to 36 bytes, and longer ones would let a short
  /// text take much memory.
  static constexpr std::size_t kMaxReplacement = 128;

  /// nullopt unless every look-up in it stays inside it, and if a replacement has more than kMaxReplacement bytes.
  static std::optional<PrecompiledCharsmap> parse(std::string_view bytes);

  /// Replaces as Hugging Face's normalizer Precompiled does: it looks up each grapheme cluster of less than six bytes,
  /// or else each of its characters, and replaces it whole if any beginning of it has a replacement. `text` is
  /// well-formed UTF-8.
  void apply(std::string& text) const;

  struct Beginning {
    std::size_t bytes = 0;       ///< of the text
    std::size_t normalized = 0;  ///< bytes that the library makes of them, at most
  };

  /// A beginning of `text`, at least one character, of which the SentencePiece library makes at most `most` bytes. The
  /// library replaces the longest beginning that has a replacement, and writes a space, and what is not UTF-8, as three
  /// bytes.
  Beginning beginning_of(std::string_view text, std::size_t most) const noexcept;

  /// Whether a space, an ASCII letter and an ASCII digit keep their kind.
  bool keeps_words_apart() const;

  /// Whether no text has more than `most` beginnings with a replacement.
  bool nests_at_most(std::size_t most) const;

 private:
  /// The replacement of the shortest beginning of `text` that has one.
  std::optional<std::string_view> find(std::string_view text) const noexcept;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
  std::size_t longest_ = 1;  // of the replacements
};

}  // namespace relucent
