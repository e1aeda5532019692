#pragma once

#include <chrono>

namespace relucent {

/// How long each step of a search took; zero for a step that did not run or was not timed. Used by scorers, the second
/// stage, searchers and benchmarks.
struct StageTimes {
  std::chrono::nanoseconds parse{0};        ///< from the typed text to a query
  std::chrono::nanoseconds first_stage{0};  ///< BM25
  std::chrono::nanoseconds fetch{0};        ///< reading the stored fields
  std::chrono::nanoseconds tokenize{0};     ///< from texts to token ids, if the scorer reports it
  std::chrono::nanoseconds encode{0};       ///< the rest of the scorer's time: from token ids to scores
  std::chrono::nanoseconds device{0};       ///< the GPU's own share of `encode`; 0 on a CPU
  std::chrono::nanoseconds combine{0};      ///< from both scores to the order
  std::chrono::nanoseconds passages{0};     ///< finding the best passages of the hits returned

  /// Adds each step's time to this one's.
  constexpr StageTimes& operator+=(const StageTimes& other) {
    parse += other.parse;
    first_stage += other.first_stage;
    fetch += other.fetch;
    tokenize += other.tokenize;
    encode += other.encode;
    device += other.device;
    combine += other.combine;
    passages += other.passages;
    return *this;
  }

  friend constexpr bool operator==(const StageTimes&, const StageTimes&) = default;
};

inline std::chrono::nanoseconds time_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::steady_clock::now() - start;
}

/// For people and JSON.
constexpr double in_milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace relucent
