#pragma once

#include <tsl/robin_set.h>

#include <cstddef>
#include <string_view>

#include "base/keyed_hash.h"

namespace relucent::index_tools {

/// The ids seen so far, as hashes of 128 bits: about 50 bytes per id, however long it is. Nobody without the key, which
/// is random, can choose two ids with the same hash, and n ids have two such by chance with a probability of n²/2^129.
class IdSet {
 public:
  /// False if the set already contains the id.
  bool insert(std::string_view id) {
    KeyedHash hash(key_);
    hash.add(id);
    return seen_.insert(hash.value()).second;
  }
  std::size_t size() const noexcept { return seen_.size(); }

 private:
  struct First {
    std::size_t operator()(const Hash128& hash) const noexcept { return hash.first; }
  };

  KeyedHash::Key key_ = KeyedHash::random_key();
  tsl::robin_set<Hash128, First> seen_;
};

}  // namespace relucent::index_tools
