#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "base/keyed_hash.h"
#include "relucent/score_cache.h"
#include "relucent/scorer.h"

namespace relucent {

/// Scores by the hashes of what they are scores of, in memory of a fixed size: a table of sets of eight places, the
/// least recently used of which makes room. A hash decides the set. Thread-safe: sets that share a lock are far apart.
class ScoreCache {
 public:
  /// At least one set. Memory is touched as scores arrive. Throws std::bad_alloc.
  explicit ScoreCache(std::size_t bytes);

  std::optional<CandidateScore> find(const Hash128& hash);
  void keep(const Hash128& hash, const CandidateScore& score);

  ScoreCacheCounts counts() const;

 private:
  struct Place {
    Hash128 hash;
    CandidateScore score;
    bool used = false;
  };
  /// The most recently used first. All bytes zero: empty.
  using Set = std::array<Place, 8>;
  struct Free {
    void operator()(Set* sets) const { std::free(sets); }
  };

  Set& set_of(const Hash128& hash) const;
  std::mutex& lock_of(const Set& set) const;

  std::size_t count_;  ///< of sets
  std::unique_ptr<Set[], Free> sets_;
  mutable std::array<std::mutex, 64> locks_;
  std::atomic<std::uint64_t> hits_ = 0, misses_ = 0, evicted_ = 0, scores_ = 0;
};

}  // namespace relucent
