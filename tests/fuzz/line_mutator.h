// RELUCENT_FUZZ_LINES in a target's file: half of libFuzzer's changes are of whole lines, or of a line's JSON. They
// remove, copy or cut some. Changes of single bytes seldom remove what a reader requires and leave the rest as it was.
#pragma once

#ifndef RELUCENT_LIBFUZZER
#define RELUCENT_FUZZ_LINES
#else

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/json_mutator.h"

namespace relucent::fuzz {

class LineMutator {
 public:
  explicit LineMutator(unsigned seed) : random_(seed), json_(static_cast<unsigned>(random_())) {}

  bool coin() { return random(2) == 0; }

  /// The input with one line changed or removed, except its first: that selects what reads the others.
  std::optional<std::string> change(std::string_view input) {
    const std::vector<std::string_view> lines = lines_of(input);
    if (lines.size() < 2) return std::nullopt;
    const std::size_t changed = 1 + random(lines.size() - 1);
    std::string result;
    for (std::size_t i = 0; i < lines.size(); ++i) result += i == changed ? other(lines, i) : std::string(lines[i]);
    return result;
  }

 private:
  std::size_t random(std::size_t count) { return random_() % count; }

  /// With their newlines; the last one may have none.
  static std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t size; !text.empty(); text.remove_prefix(size)) {
      size = std::min(text.find('\n'), text.size() - 1) + 1;
      lines.push_back(text.substr(0, size));
    }
    return lines;
  }

  /// In place of lines[i], where lines end with their newline.
  std::string other(const std::vector<std::string_view>& lines, std::size_t i) {
    const std::string line(lines[i]);
    if (coin()) {
      if (auto json = json_.change(line)) return *json + "\n";
    }
    switch (random(4)) {
      case 0: return line.substr(0, random(line.size() + 1)) + "\n";
      case 1: return line + line;
      case 2: return std::string(lines[random(lines.size())]) + line;
      default: return {};
    }
  }

  std::minstd_rand random_;
  JsonMutator json_;
};

}  // namespace relucent::fuzz

#define RELUCENT_FUZZ_LINES RELUCENT_FUZZ_MUTATOR(LineMutator)

#endif
