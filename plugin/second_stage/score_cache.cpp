#include "plugin/second_stage/score_cache.h"

#include <algorithm>
#include <new>
#include <type_traits>

namespace relucent {

ScoreCache::ScoreCache(std::size_t bytes) : count_(std::max<std::size_t>(1, bytes / sizeof(Set))) {
  // calloc's pages take no memory until they are written to.
  static_assert(std::is_trivially_destructible_v<Set> && std::is_trivially_copyable_v<Set>);
  sets_.reset(static_cast<Set*>(std::calloc(count_, sizeof(Set))));
  if (!sets_) throw std::bad_alloc();
}

ScoreCache::Set& ScoreCache::set_of(const Hash128& hash) const { return sets_[hash.first % count_]; }

std::mutex& ScoreCache::lock_of(const Set& set) const {
  return locks_[static_cast<std::size_t>(&set - sets_.get()) % locks_.size()];
}

std::optional<CandidateScore> ScoreCache::find(const Hash128& hash) {
  Set& set = set_of(hash);
  const std::lock_guard lock(lock_of(set));
  const auto found =
      std::find_if(set.begin(), set.end(), [&](const Place& place) { return place.used && place.hash == hash; });
  if (found == set.end()) {
    misses_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  hits_.fetch_add(1, std::memory_order_relaxed);
  std::rotate(set.begin(), found, found + 1);
  return set.front().score;
}

void ScoreCache::keep(const Hash128& hash, const CandidateScore& score) {
  Set& set = set_of(hash);
  const std::lock_guard lock(lock_of(set));
  // Another thread may have kept it meanwhile.
  auto place = std::find_if(set.begin(), set.end(), [&](const Place& one) { return one.used && one.hash == hash; });
  if (place == set.end()) {
    place = set.end() - 1;
    (place->used ? evicted_ : scores_).fetch_add(1, std::memory_order_relaxed);
  }
  *place = {hash, score, true};
  std::rotate(set.begin(), place, place + 1);
}

ScoreCacheCounts ScoreCache::counts() const {
  return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed),
          evicted_.load(std::memory_order_relaxed), scores_.load(std::memory_order_relaxed),
          std::uint64_t{count_} * sizeof(Set)};
}

}  // namespace relucent
