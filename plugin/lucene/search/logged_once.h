#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

namespace relucent {

/// Messages that a rescorer logs only once.
struct LoggedOnce {
  std::once_flag terms_are_read, no_hit_has_text;

  /// Whether this reason is new. Thread-safe.
  bool first_time(const std::string& reason) {
    constexpr std::size_t most = 100;
    const std::lock_guard lock(mutex_);
    if (reasons_.size() >= most) reasons_.clear();
    return reasons_.insert(reason).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> reasons_;  ///< the latest ones
};

}  // namespace relucent
