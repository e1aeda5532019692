#include "model/tokenizer/vocabulary_trie.h"

#include <algorithm>
#include <bit>

namespace relucent {

VocabularyTrie::VocabularyTrie(const std::vector<std::string_view>& entries) {
  // Sorted, so that every node is counted once: an entry adds only what it does not share with the previous entry.
  std::vector<std::size_t> order(entries.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return entries[a] < entries[b]; });
  std::size_t nodes = 1;
  std::string_view before;
  for (const std::size_t i : order) {
    const auto shared = std::mismatch(before.begin(), before.end(), entries[i].begin(), entries[i].end()).first;
    nodes += entries[i].size() - static_cast<std::size_t>(shared - before.begin());
    before = entries[i];
  }
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(2 * nodes, 16));
  edges_.resize(slots);
  mask_ = slots - 1;
  shift_ = 32 - std::countr_zero(slots);
  ids_.reserve(nodes);
  ids_.push_back(-1);
  for (const std::size_t i : order) {
    std::uint32_t node = kRoot;
    for (const char byte : entries[i]) {
      const std::uint32_t next = child(node, byte);
      node = next != kNone ? next : add_child(node, byte);
    }
    if (node != kRoot) ids_[node] = static_cast<std::int32_t>(i);
  }
}

std::uint32_t VocabularyTrie::add_child(std::uint32_t node, char byte) {
  const std::uint32_t key = node << 8 | static_cast<std::uint8_t>(byte);
  std::size_t slot = hash(key);
  while (edges_[slot & mask_].key != kNone) ++slot;
  const auto added = static_cast<std::uint32_t>(ids_.size());
  edges_[slot & mask_] = {key, added};
  ids_.push_back(-1);
  return added;
}

}  // namespace relucent
