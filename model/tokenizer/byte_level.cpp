#include "model/tokenizer/byte_level.h"

#include <array>

#include "base/utf8.h"
#include "model/tokenizer/character_table.h"

namespace relucent {
namespace {

enum class RunKind { letter, number, space, other };

RunKind kind_of(char32_t c) noexcept {
  static constexpr auto ascii = [] {
    std::array<RunKind, 0x80> kinds{};
    for (char32_t i = 0; i < 0x80; ++i) {
      const bool letter = (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z');
      const bool number = i >= '0' && i <= '9';
      kinds[i] = letter              ? RunKind::letter
                 : number            ? RunKind::number
                 : is_white_space(i) ? RunKind::space
                                     : RunKind::other;
    }
    return kinds;
  }();
  if (c < 0x80) return ascii[c];
  const CharacterTable& table = CharacterTable::instance();
  if (table.has(c, CharacterTable::letter)) return RunKind::letter;
  if (table.has(c, CharacterTable::number)) return RunKind::number;
  return is_white_space(c) ? RunKind::space : RunKind::other;
}

/// The size of 's, 't, 're, 've, 'm, 'll or 'd at the start; 0 if there is none.
std::size_t contraction(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const char a = text[1], b = text.size() > 2 ? text[2] : '\0';
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/// By byte: its character in UTF-8.
struct Characters {
  std::array<std::array<char, 2>, 256> bytes{};
  std::array<std::uint8_t, 256> sizes{};

  constexpr Characters() {
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const char32_t c = printable ? byte : next++;
      sizes[byte] = c < 0x80 ? 1 : 2;
      bytes[byte] = {static_cast<char>(c < 0x80 ? c : 0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
};
constexpr Characters kCharacters;

}  // namespace

std::size_t byte_level_word_end(std::string_view text, std::size_t at) noexcept {
  if (const std::size_t size = contraction(text.substr(at)); size != 0) return at + size;
  std::size_t next = at;
  RunKind kind = kind_of(next_code_point(text, next));
  if (text[at] == ' ' && next < text.size()) {
    std::size_t behind = next;
    if (const RunKind word = kind_of(next_code_point(text, behind)); word != RunKind::space) {
      kind = word;
      next = behind;
    }
  }
  std::size_t last = at;  // the last character's place
  while (next < text.size()) {
    std::size_t behind = next;
    if (kind_of(next_code_point(text, behind)) != kind) {
      // The last of several spaces belongs to the word behind them.
      return kind == RunKind::space && last > at ? last : next;
    }
    last = next;
    next = behind;
  }
  return next;
}

void append_byte_level(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out.append(kCharacters.bytes[byte].data(), kCharacters.sizes[byte]);
  }
}

}  // namespace relucent
