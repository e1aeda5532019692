#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugin/lucene/bm25/formula.h"

namespace relucent::bm25 {

/// What one term adds to a document's score. With enough postings to justify a table, contributions of small
/// frequencies are looked up there, with the same bits.
class Contributions {
 public:
  /// @param factors   length_factors(), which must outlive this object
  /// @param longest   the largest length byte
  /// @param postings  the maximum number of calls
  Contributions(float weight, const std::array<float, 256>& factors, std::uint8_t longest, std::int64_t postings)
      : weight_(weight), factors_(factors.data()) {
    if (postings <= std::int64_t{kFrequencies} * (longest + 1)) return;
    tabled_ = kFrequencies;
    table_.resize(kFrequencies * 256);
    for (std::uint32_t frequency = 1; frequency < kFrequencies; ++frequency) {
      for (std::uint32_t length = 0; length <= longest; ++length) {
        table_[frequency * 256 + length] = contribution(weight, static_cast<float>(frequency), factors_[length]);
      }
    }
  }

  double operator()(std::int32_t frequency, std::uint8_t length) const {
    const auto row = static_cast<std::uint32_t>(frequency);
    if (row < tabled_) return table_[row * 256 + length];
    return contribution(weight_, static_cast<float>(frequency), factors_[length]);
  }

 private:
  static constexpr std::uint32_t kFrequencies = 8;

  float weight_;
  const float* factors_;
  std::uint32_t tabled_ = 0;
  std::vector<double> table_;  ///< [frequency][length byte]
};

}  // namespace relucent::bm25
