#include "plugin/lucene/search/logged_once.h"

#include <cstddef>

namespace relucent {

bool LoggedOnce::first_time(const std::string& reason) {
  constexpr std::size_t most = 100;
  const std::lock_guard lock(mutex_);
  if (reasons_.size() >= most) reasons_.clear();
  return reasons_.insert(reason).second;
}

}  // namespace relucent
