#pragma once

#include <Term.h>

#include <mutex>
#include <optional>
#include <unordered_map>

namespace relucent::bm25 {

/// Caches, for terms of one field in one segment, the largest frequency · length factor of any posting. A contribution
/// grows with it, so it gives the term's largest contribution for any weight. Thread-safe.
class TermMaxima {
 public:
  std::optional<float> find(const Lucene::String& term) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(term);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const Lucene::String& term, float largest) {
    const std::lock_guard lock(mutex_);
    known_.emplace(term, largest);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Lucene::String, float> known_;
};

}  // namespace relucent::bm25
