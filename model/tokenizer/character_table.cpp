#include "model/tokenizer/character_table.h"

#include <map>

namespace relucent {
namespace {

/// Every step-th code point from first to last.
struct ClassRow {
  char32_t first, last;
  std::uint32_t step;
  std::uint16_t properties;
};
struct LowerRow {
  char32_t first, last;
  std::uint32_t step;
  std::int32_t distance;
};

#include "model/tokenizer/character_table.inc"

}  // namespace

CharacterTable::CharacterTable() {
  std::vector<Entry> all(0x110000);
  for (const ClassRow& row : kClassRows) {
    for (char32_t c = row.first; c <= row.last; c += row.step) all[c].properties = row.properties;
  }
  for (const LowerRow& row : kLowerRows) {
    for (char32_t c = row.first; c <= row.last; c += row.step) all[c].to_lower = row.distance;
  }
  all[0x130].to_lower = 'i' - 0x130;

  std::map<std::vector<Entry>, std::uint32_t> known;
  for (std::size_t block = 0; block < block_of_.size(); ++block) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * kBlockSize);
    const auto [place, is_new] =
        known.try_emplace(std::vector<Entry>(begin, begin + kBlockSize), static_cast<std::uint32_t>(blocks_.size()));
    if (is_new) blocks_.insert(blocks_.end(), begin, begin + kBlockSize);
    block_of_[block] = place->second;
  }
}

const CharacterTable& CharacterTable::instance() {
  static const CharacterTable table;
  return table;
}

}  // namespace relucent
