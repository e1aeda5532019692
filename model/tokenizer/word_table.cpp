#include "model/tokenizer/word_table.h"

#include <algorithm>
#include <array>
#include <bit>

namespace relucent {
namespace {

bool is_short(std::string_view word) {
  return !word.empty() && word.size() <= ShortWord::kMaxBytes && word.find('\0') == std::string_view::npos;
}

}  // namespace

WordTable::WordTable(const std::vector<Entry>& entries) {
  const auto words = static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const Entry& entry) { return is_short(entry.word); }));
  slots_.resize(std::bit_ceil(std::max<std::size_t>(2 * words, 2)));
  mask_ = slots_.size() - 1;
  shift_ = 64 - std::countr_zero(slots_.size());
  for (const auto& [text, id] : entries) {
    if (!is_short(text)) continue;
    std::array<char, ShortWord::kMaxBytes> bytes{};
    std::copy(text.begin(), text.end(), bytes.begin());
    const ShortWord word = ShortWord::of(bytes.data(), text.size());
    std::size_t slot = word.hash() >> shift_;
    while (slots_[slot & mask_].id >= 0) ++slot;
    slots_[slot & mask_] = {word, id};
  }
}

}  // namespace relucent
