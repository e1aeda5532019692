#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace relucent::segment {

/// The distinct terms of a segment, numbered in order of first occurrence.
class TermTable {
 public:
  /// The term's number; `hash` has well-mixed bits.
  std::uint32_t number_of(std::string_view text, std::uint64_t hash) {
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Place& place = places_[i];
      if (place.number_after == 0) return add(text, hash);
      if (place.hash == static_cast<std::uint32_t>(hash >> 32) && this->text(place.number_after - 1) == text) {
        return place.number_after - 1;
      }
    }
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::string_view text(std::uint32_t number) const {
    const std::size_t start = number == 0 ? 0 : ends_[number - 1];
    return {bytes_.data() + start, ends_[number] - start};
  }

 private:
  struct Place {
    std::uint32_t hash = 0;          ///< the upper half
    std::uint32_t number_after = 0;  ///< the term's number + 1; 0: free
  };
  std::uint32_t add(std::string_view text, std::uint64_t hash);
  void insert(std::uint32_t number, std::uint64_t hash);

  std::vector<char> bytes_;
  std::vector<std::size_t> ends_;                            ///< [terms]: one past the last byte of each text
  std::vector<std::uint64_t> hashes_;                        ///< [terms]
  std::vector<Place> places_ = std::vector<Place>(1 << 14);  ///< a power of two, at most half full
  std::size_t mask_ = places_.size() - 1;
};

}  // namespace relucent::segment
