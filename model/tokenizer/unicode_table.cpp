#include "model/tokenizer/unicode_table.h"

#include <map>

namespace relucent {
namespace {

/// Every step-th code point from first to last; see generate_unicode_table.py.
struct Row {
  char32_t first, last;
  std::uint32_t step;
  CharacterKind kind;
  std::int32_t value;
};

using enum CharacterKind;  // the table uses these names
#include "model/tokenizer/unicode_table.inc"

constexpr char32_t kFirstSyllable = 0xAC00, kLastSyllable = 0xD7A3;
constexpr std::size_t kCodePoints = 0x110000;

constexpr std::uint32_t pack(CharacterKind kind, std::int32_t distance) {
  return static_cast<std::uint32_t>(distance) << 8 | static_cast<std::uint32_t>(kind);
}

}  // namespace

UnicodeTable::UnicodeTable() {
  std::vector<std::uint32_t> all(kCodePoints, pack(CharacterKind::letter, 0));
  for (const Row& row : kRows) {
    for (char32_t c = row.first; c <= row.last; c += row.step) {
      // A sequence's value is its index in the list; look_up adds c to every value.
      const std::int32_t distance =
          row.kind == CharacterKind::sequence ? row.value - static_cast<std::int32_t>(c) : row.value;
      all[c] = pack(row.kind, distance);
    }
  }
  for (char32_t c = kFirstSyllable; c <= kLastSyllable; ++c) all[c] = pack(CharacterKind::sequence, 0);

  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (std::size_t block = 0; block < block_of_.size(); ++block) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * kBlockSize);
    const auto [place, is_new] = known.try_emplace(std::vector<std::uint32_t>(begin, begin + kBlockSize),
                                                   static_cast<std::uint32_t>(blocks_.size()));
    if (is_new) blocks_.insert(blocks_.end(), begin, begin + kBlockSize);
    block_of_[block] = place->second;
  }
}

const UnicodeTable& UnicodeTable::instance() {
  static const UnicodeTable table;
  return table;
}

std::span<const char32_t> UnicodeTable::sequence(char32_t c, CharacterAction action,
                                                 std::array<char32_t, 3>& storage) const noexcept {
  if (c >= kFirstSyllable && c <= kLastSyllable) {  // Unicode 15, section 3.12
    const char32_t index = c - kFirstSyllable;
    storage = {0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28};
    return std::span(storage).first(index % 28 == 0 ? 2 : 3);
  }
  return std::span(kSequences).subspan(action.value + 1, kSequences[action.value]);
}

}  // namespace relucent
