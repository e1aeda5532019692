#include "plugin/index_format/segment/term_table.h"

namespace relucent::segment {

std::uint32_t TermTable::add(std::string_view text, std::uint64_t hash) {
  if (2 * (ends_.size() + 1) > places_.size()) {
    places_.assign(2 * places_.size(), {});
    mask_ = places_.size() - 1;
    for (std::uint32_t number = 0; number < size(); ++number) insert(number, hashes_[number]);
  }
  const std::uint32_t number = size();
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  ends_.push_back(bytes_.size());
  hashes_.push_back(hash);
  insert(number, hash);
  return number;
}

void TermTable::insert(std::uint32_t number, std::uint64_t hash) {
  std::size_t i = hash & mask_;
  while (places_[i].number_after != 0) i = (i + 1) & mask_;
  places_[i] = {static_cast<std::uint32_t>(hash >> 32), number + 1};
}

}  // namespace relucent::segment
