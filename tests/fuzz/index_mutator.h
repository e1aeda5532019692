// RELUCENT_FUZZ_CHANGES in targets/index.cpp: half of libFuzzer's mutations add or alter a whole change to the files of
// an index. Mutations of single bytes seldom hit the byte that matters, and where two files state the same number a
// reader refuses a change of one.
#pragma once

#ifndef RELUCENT_LIBFUZZER
#define RELUCENT_FUZZ_CHANGES
#else

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/half_mutator.h"

namespace relucent::fuzz {

class IndexMutator {
 public:
  explicit IndexMutator(unsigned seed) : random_(seed) {}

  bool coin() { return random(2) == 0; }

  std::optional<std::string> change(std::string_view input) {
    if (input.empty()) return std::nullopt;
    const char first = coin() ? input[0] : byte(random(16));
    std::vector<std::string> changes = changes_of(input.substr(1));
    if (changes.size() > kMostChanges) changes.resize(kMostChanges);
    if (changes.empty() || random(4) == 0) {
      changes = {new_change()};
    } else {
      std::string changed = changes[random(changes.size())];
      switch (random(4)) {
        case 0: changed = with_number(changed); break;
        case 1: changed[kFile] = byte(static_cast<std::uint8_t>(changed[kFile]) + 1); break;  // of the same segment
        case 2: changed[kPlace] = byte(static_cast<std::uint8_t>(changed[kPlace]) + random(17) - 8); break;
        default: changed = new_change(); break;
      }
      if (changes.size() == kMostChanges) changes.clear();
      changes.push_back(changed);
    }
    std::string result(1, first);
    for (const std::string& one : changes) result += one;
    return result;
  }

 private:
  static constexpr std::size_t kFile = 0, kKind = 1, kPlace = 2, kCount = 4, kBytes = 5, kMostChanges = 4;

  std::size_t random(std::size_t count) { return random_() % count; }
  static char byte(std::size_t value) { return static_cast<char>(value & 0xFF); }

  /// As the target reads them.
  static std::vector<std::string> changes_of(std::string_view list) {
    std::vector<std::string> changes;
    while (list.size() >= kBytes) {
      const bool writes = static_cast<std::uint8_t>(list[kKind]) % 5 < 2;
      const std::size_t size = kBytes + (writes ? static_cast<std::uint8_t>(list[kCount]) : 0);
      changes.emplace_back(list.substr(0, size));
      list.remove_prefix(changes.back().size());
    }
    return changes;
  }

  std::string new_change() {
    const std::size_t place = random(std::size_t{1} << random(13));  // most numbers are at the beginning of a file
    const std::string change{byte(random(32)), byte(random(8)), byte(place), byte(place >> 8U), byte(random(10))};
    const bool writes = change[kKind] < 2 || change[kKind] > 4;  // the kinds between remove, cut or repeat bytes
    return writes ? with_number(change) : change;
  }

  /// The change as one that writes a number of one, four or eight bytes, the highest first, as Lucene writes them.
  std::string with_number(std::string change) {
    constexpr std::int64_t kNumbers[] = {0, 1, -1, 2, 127, 128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    constexpr std::size_t kSizes[] = {1, 1, 4, 8};
    const std::size_t size = kSizes[random(std::size(kSizes))];
    const std::int64_t number = coin() ? kNumbers[random(std::size(kNumbers))] : static_cast<std::int64_t>(random(256));
    change[kKind] = 0;
    change[kCount] = byte(size);
    change.resize(kBytes);
    for (std::size_t i = size; i-- > 0;) change.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
    return change;
  }

  std::minstd_rand random_;
};

}  // namespace relucent::fuzz

#define RELUCENT_FUZZ_CHANGES RELUCENT_FUZZ_MUTATOR(IndexMutator)

#endif
