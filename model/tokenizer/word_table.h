#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/short_word.h"

namespace relucent {

/// The short entries of a vocabulary, each found with one look-up; most words of a text are among them. Immutable
/// once built, thread-safe.
class WordTable {
 public:
  struct Entry {
    std::string_view word;
    std::int32_t id;
  };
  /// Skips entries that are not a ShortWord. No word may appear twice.
  explicit WordTable(const std::vector<Entry>& entries);

  /// The word's id, or -1 if it is not an entry.
  std::int32_t find(ShortWord word) const noexcept {
    for (std::size_t slot = word.hash() >> shift_;; ++slot) {
      const Slot& found = slots_[slot & mask_];
      if (found.word == word) return found.id;
      if (found.id < 0) return -1;
    }
  }

 private:
  struct Slot {
    ShortWord word;
    std::int32_t id = -1;
  };

  std::vector<Slot> slots_;  // open addressing, at most half full
  std::size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace relucent
