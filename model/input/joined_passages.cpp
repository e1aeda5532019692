#include "model/input/joined_passages.h"

#include <algorithm>
#include <numeric>

namespace relucent {

std::vector<Chunk> split_document(std::size_t pieces, const PassageSplit& split) {
  const auto window = static_cast<std::size_t>(split.window), stride = static_cast<std::size_t>(split.stride);
  std::vector<Chunk> passages;
  for (std::size_t begin = 0;; begin += stride) {
    passages.push_back({begin, std::min(window, pieces - begin)});
    if (begin + window >= pieces) return passages;
  }
}

std::vector<Chunk> spread_passages(std::vector<Chunk> passages, const PassageSplit& split) {
  const auto most = static_cast<std::size_t>(split.most);
  if (passages.size() <= most) return passages;
  const std::size_t last = passages.size() - 1;
  std::vector<Chunk> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(passages[most == 1 ? 0 : i * last / (most - 1)]);
  return chosen;
}

JoinedPassages::JoinedPassages(const EncoderDescription& description, std::span<const std::size_t> counts) {
  const std::size_t most = counts.empty() ? 0 : std::ranges::max(counts);
  // Without exchanges pivots see nothing, and so name themselves alone.
  for (std::size_t i = 0; i < most; ++i) pivots_.push_back({i, 0, 1, i, 1});
  seen_.resize(most);
  std::iota(seen_.begin(), seen_.end(), 0);
  groups_.reserve(counts.size());
  for (const std::size_t count : counts) {
    groups_.push_back({description.head.groups.front(), std::span(pivots_).first(count), {&kFirstToken, 1}, seen_});
    documents_.push_back({count, {&groups_.back(), 1}});
  }
}

}  // namespace relucent
