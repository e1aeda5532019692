#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tests/support/kernels_support.h"

namespace relucent::testing {

/// Where and what a MixEncoder's candidates are.
class MixInputs {
 public:
  MixInputs(RandomModel& model, std::size_t query, const std::vector<std::size_t>& lengths)
      : query_(model.tokens(query)), positions_(model.description.max_positions) {
    std::iota(positions_.begin(), positions_.end(), 0);
    for (const std::size_t length : lengths) texts_.push_back(model.tokens(length));
    context_ = static_cast<std::size_t>(model.description.groups[kContext].derived->tokens);
    size_ = context_ * static_cast<std::size_t>(model.description.hidden_size);
  }

  std::vector<float> encoded(const Backend& backend, std::size_t first, std::size_t count,
                             const StopSignal& stop = {}) const {
    std::vector<Segment> segments;
    for (std::size_t i = first; i < first + count; ++i) segments.push_back(text(i));
    std::vector<float> states(count * size_, std::nanf(""));
    backend.encode(segments, states, stop);
    return states;
  }
  /// The scores of candidates given as texts, or by these states.
  std::vector<float> scores(const Backend& backend, std::size_t first, std::size_t count,
                            std::span<const float> states = {}, const StopSignal& stop = {}) const {
    const std::span<const std::int32_t> positions(positions_);
    const Segment shared[] = {{kQuery, query_, positions.first(query_.size())}};
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < count; ++i) {
      segments.push_back(states.empty()
                             ? text(first + i)
                             : Segment{kContext, {}, positions.first(context_), 0, states.subspan(i * size_, size_)});
    }
    std::vector<std::span<const Segment>> candidates;
    for (const Segment& segment : segments) candidates.emplace_back(&segment, 1);
    std::vector<float> logits(count, std::nanf(""));
    backend.score({shared, candidates}, logits, stop);
    return logits;
  }
  std::size_t count() const { return texts_.size(); }
  std::size_t size() const { return size_; }

 private:
  Segment text(std::size_t i) const {
    return {kDocument, texts_[i], std::span<const std::int32_t>(positions_).first(texts_[i].size())};
  }

  std::vector<std::int32_t> query_, positions_;
  std::vector<std::vector<std::int32_t>> texts_;
  std::size_t context_ = 0, size_ = 0;
};

}  // namespace relucent::testing
