#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace relucent {

/// A vocabulary's entries by their bytes, for longest matches. Immutable once built; look-ups allocate
/// nothing.
class VocabularyTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// Maximum total size of all entries in bytes.
  static constexpr std::size_t kMaxBytes = (std::size_t{1} << 24) - 2;
  /// Longer than any real entry. A search looks this far at each place of a text, so longer ones would make it hang.
  static constexpr std::size_t kMaxEntryBytes = 1024;

  /// `entries[i]` has the id i, the last of equal ones; an empty entry is never found. Their total size is at most
  /// `kMaxBytes`.
  explicit VocabularyTrie(const std::vector<std::string_view>& entries);

  /// The node one byte further, or kNone.
  std::uint32_t child(std::uint32_t node, char byte) const noexcept {
    const std::uint32_t key = node << 8 | static_cast<std::uint8_t>(byte);
    for (std::size_t slot = hash(key);; ++slot) {
      const Edge& edge = edges_[slot & mask_];
      if (edge.key == key) return edge.child;
      if (edge.key == kNone) return kNone;
    }
  }

  /// The node that `text` leads to, or kNone.
  std::uint32_t descend(std::uint32_t node, std::string_view text) const noexcept {
    for (std::size_t i = 0; i < text.size() && node != kNone; ++i) node = child(node, text[i]);
    return node;
  }

  /// The id of the entry that ends at `node`, or -1.
  std::int32_t id(std::uint32_t node) const noexcept { return ids_[node]; }
  /// The id of an entry, or -1.
  std::int32_t find(std::string_view entry) const noexcept {
    const std::uint32_t node = descend(kRoot, entry);
    return node == kNone ? -1 : id(node);
  }

 private:
  struct Edge {
    std::uint32_t key = kNone;  // parent << 8 | byte
    std::uint32_t child = kNone;
  };

  std::size_t hash(std::uint32_t key) const noexcept { return (key * std::uint32_t{0x9E3779B1}) >> shift_; }
  std::uint32_t add_child(std::uint32_t node, char byte);

  std::vector<Edge> edges_;  // open addressing, at most half full
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::vector<std::int32_t> ids_;
};

}  // namespace relucent
