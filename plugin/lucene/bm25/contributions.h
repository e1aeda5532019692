#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plugin/lucene/bm25/term_score.h"

namespace relucent::bm25 {

/// What one term adds to a document's score. With enough postings to justify a table, contributions of small
/// frequencies are looked up there, with the same bits.
class Contributions {
 public:
  /// @param longest   the largest length byte
  /// @param postings  the maximum number of calls
  Contributions(TermScore score, std::uint8_t longest, std::int64_t postings) : score_(std::move(score)) {
    if (postings <= std::int64_t{kFrequencies} * (longest + 1)) return;
    table_.resize(kFrequencies * 256);
    for (std::uint32_t frequency = 1; frequency < kFrequencies; ++frequency) {
      for (std::uint32_t length = 0; length <= longest; ++length) {
        table_[frequency * 256 + length] =
            computed(static_cast<std::int32_t>(frequency), static_cast<std::uint8_t>(length));
      }
    }
    tabled_ = kFrequencies;
  }

  double operator()(std::int32_t frequency, std::uint8_t length) const {
    const auto row = static_cast<std::uint32_t>(frequency);
    if (row < tabled_) return table_[row * 256 + length];
    return computed(frequency, length);
  }

 private:
  static constexpr std::uint32_t kFrequencies = 8;
  /// A likelihood of 0 is a match as well. This number makes its sum positive, and leaves every other sum as it is.
  static constexpr double kMatch = 1e-300;

  double computed(std::int32_t frequency, std::uint8_t length) const {
    const double score = score_(static_cast<float>(frequency), length);
    return score == 0 && !score_.is_bm25() ? kMatch : score;
  }

  TermScore score_;
  std::uint32_t tabled_ = 0;
  std::vector<double> table_;  ///< [frequency][length byte]
};

}  // namespace relucent::bm25
