#pragma once

#include <Term.h>

#include <mutex>
#include <optional>
#include <unordered_map>

namespace relucent::bm25 {

/// Of the terms of one field in one segment, as far as somebody asked for it: the largest frequency · length factor of
/// any posting. A contribution grows with it, so that the term's largest contribution follows, whatever its weight.
/// Thread-safe.
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
