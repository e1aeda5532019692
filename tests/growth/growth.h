#pragma once

// Costs of one input at three sizes, each twice the one before: instructions of the processor and bytes of malloc,
// which are the same in every run, however busy the machine is.

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace relucent::testing {

/// What is measured. It may throw what the input deserves if Case::refused.
using Work = std::function<void()>;

/// An input that can have any size, and what reads it.
struct Case {
  std::string name;      ///< letters, digits and '_'
  std::size_t size = 0;  ///< the smallest; twice and four times as much follow
  /// Makes the input, which does not count, and returns the work on it.
  std::function<Work(std::size_t size)> prepare;
  /// RELUCENT_GROWTH multiplies `size` by as much as this allows: an input may have a limit beyond which it is refused.
  std::size_t largest_factor = 1000;
  bool refused = false;  ///< the work ends in an Error, at every size
};

inline void PrintTo(const Case& input, std::ostream* out) { *out << input.name; }

/// The cases of a room.
std::vector<Case> formats_cases();
std::vector<Case> tokenizer_cases();
std::vector<Case> evaluation_cases();
std::vector<Case> corpora_cases();
std::vector<Case> index_cases();
std::vector<Case> server_cases();

/// `times` copies of a text.
inline std::string repeated(std::size_t times, const std::string& text) {
  std::string all;
  all.reserve(times * text.size());
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// The texts of 0, 1, ... up to `times`, one after another.
template <typename Make>
std::string numbered_texts(std::size_t times, const Make& make) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += make(std::to_string(i));
  return all;
}

}  // namespace relucent::testing
