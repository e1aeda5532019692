// RELUCENT_FUZZ_TOML in a target's file: half of libFuzzer's changes are of whole lines. They give a key a value of
// another type, copy or remove a line. Changes of single bytes hardly ever do, because most leave no TOML.
#pragma once

#ifndef RELUCENT_LIBFUZZER
#define RELUCENT_FUZZ_TOML
#else

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "tests/fuzz/half_mutator.h"

namespace relucent::fuzz {

class TomlMutator {
 public:
  explicit TomlMutator(unsigned seed) : random_(seed) {}

  bool coin() { return random(2) == 0; }

  /// The input with one line changed; nullopt if no line is "KEY = VALUE".
  std::optional<std::string> change(std::string_view input) {
    std::vector<std::string_view> lines, settings;
    while (!input.empty()) {
      const std::string_view line = input.substr(0, input.find('\n'));
      input.remove_prefix(std::min(line.size() + 1, input.size()));
      lines.push_back(line);
      if (line.find('=') != line.npos) settings.push_back(line);
    }
    if (settings.empty()) return std::nullopt;
    const std::size_t changed = random(lines.size());
    std::string result;
    const unsigned kind = random(4);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i != changed) {
        result.append(lines[i]) += '\n';
      } else if (kind < 2) {
        const std::size_t equals = lines[i].find('=');
        result.append(lines[i].substr(0, equals));
        if (equals != std::string_view::npos) result += "= " + value(settings);
        result += '\n';
      } else if (kind == 2) {
        result.append(lines[i]).append("\n").append(lines[random(lines.size())]) += '\n';
      }
    }
    return result;
  }

 private:
  std::size_t random(std::size_t count) { return random_() % count; }

  std::string value(const std::vector<std::string_view>& settings) {
    constexpr std::array<std::string_view, 14> samples = {"true", "0",       "1",    "-1",        "9223372036854775807",
                                                          "1.5",  "nan",     "\"\"", "\"a\"",     "[]",
                                                          "[1]",  "[\"a\"]", "{}",   "1979-05-27"};
    if (coin()) return std::string(samples[random(samples.size())]);
    const std::string_view other = settings[random(settings.size())];
    return std::string(other.substr(other.find('=') + 1));
  }

  std::minstd_rand random_;
};

}  // namespace relucent::fuzz

#define RELUCENT_FUZZ_TOML RELUCENT_FUZZ_MUTATOR(TomlMutator)

#endif
