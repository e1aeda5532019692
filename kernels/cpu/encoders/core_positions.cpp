// What depends on tokens' positions: rotations and T5's biases.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/cpu/encoders/core.h"
#include "kernels/relative_positions.h"

namespace relucent::cpu {

void Core::prepare_positions(const Group& group, Workspace& w) const {
  if (rotary_.empty() && relative_biases_.empty()) return;
  std::int32_t last = 0;
  const auto reach_last = [&](const Segment& segment) {
    for (const std::int32_t position : segment.positions) last = std::max(last, position);
  };
  reach_last(group.cls);
  reach_last(group.query);
  for (const Sequence& sequence : group.sequences) reach_last(sequence.document);
  make_tables(static_cast<std::size_t>(last) + 1, w);
  turn_tokens(group, w);
}

void Core::make_tables(std::size_t count, Workspace& w) const {
  if (count <= w.positions) return;
  w.positions = std::max<std::size_t>(512, std::bit_ceil(count));
  w.turns.clear();
  for (const PositionScheme& scheme : rotary_) {
    for (double (*function)(double) :
         {static_cast<double (*)(double)>(std::cos), static_cast<double (*)(double)>(std::sin)}) {
      for (std::size_t position = 0; position < w.positions; ++position) {
        for (std::size_t d = 0; d < head_size_ / 2; ++d) {
          const double angle = static_cast<double>(position) * turn_of(scheme, d, head_size_);
          w.turns.push_back(static_cast<float>(function(angle)));
        }
      }
    }
  }
  w.biases.clear();
  const auto reach = static_cast<std::int32_t>(w.positions + kReach);
  for (const std::vector<float>& table : relative_biases_) {
    for (std::size_t head = 0; head < heads_; ++head) {
      for (std::int32_t distance = -reach; distance < reach; ++distance) {
        w.biases.push_back(table[bucket_of(-distance, relative_) * heads_ + head]);
      }
    }
  }
}

const float* Core::biases_of(const Layer& layer, std::size_t head, const Workspace& group) const {
  if (!layer.biases) return nullptr;
  const std::size_t reach = group.positions + kReach;
  return group.biases.data() + (*layer.biases * heads_ + head) * 2 * reach + reach;
}

void Core::turn_tokens(const Group& group, Workspace& w) const {
  if (rotary_.empty()) return;
  const std::size_t half = head_size_ / 2, slots = panels(group.vectors) * kernels_.panel;
  std::vector<std::size_t> positions(slots);
  const auto put = [&](std::size_t first, const Segment& segment) {
    std::copy(segment.positions.begin(), segment.positions.end(),
              positions.begin() + static_cast<std::ptrdiff_t>(first));
  };
  for (const Sequence& sequence : group.sequences) {
    put(sequence.first, group.cls);
    if (group.query_in_group) put(sequence.first + group.cls.tokens(), group.query);
    put(group.first_document(sequence), sequence.document);
  }
  float* to = w.rotations.grow(rotary_.size() * 2 * half * slots);
  for (std::size_t table = 0; table < 2 * rotary_.size(); ++table) {
    const float* from = w.turns.data() + table * w.positions * half;
    for (std::size_t d = 0; d < half; ++d) {
      for (std::size_t slot = 0; slot < slots; ++slot) *to++ = from[positions[slot] * half + d];
    }
  }
}

}  // namespace relucent::cpu
