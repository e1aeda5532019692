#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "relucent/export.h"
#include "relucent/scorer.h"

namespace relucent {

/// What a cache of scores has done since it was made, and its size.
struct ScoreCacheCounts {
  std::uint64_t hits = 0;     ///< scores taken from the cache
  std::uint64_t misses = 0;   ///< scores that were not found
  std::uint64_t evicted = 0;  ///< scores that made room for others
  std::uint64_t scores = 0;   ///< kept now
  std::uint64_t bytes = 0;    ///< of memory at most
};

/// A scorer that keeps the scores of `scorer` in at most `megabytes` * 2^20 bytes, and takes those of equal queries and
/// candidates from there: the same bits, with CandidateScore::cached set. What `[rescorer] cache_mb` does; a Rescorer
/// and make_stages() call it for each stage. Thread-safe.
///
/// Scores are found by a keyed 128-bit hash of the query and of the candidate's text, embedding and graph. They belong
/// to this scorer, so neither model nor settings are part of the key. Scores of a fallback device are not kept, and a
/// query whose other candidates a fallback scores is scored as a whole, so that it never mixes the bits of two devices.
///
/// Returns `scorer` itself if it is not cacheable(), has a cache already or `megabytes` is 0. Throws Error `io` if
/// there is not enough memory.
RELUCENT_API std::shared_ptr<const Scorer> with_score_cache(std::shared_ptr<const Scorer> scorer,
                                                            std::int32_t megabytes);

/// The counts of a scorer that with_score_cache() made; nullopt for any other.
RELUCENT_API std::optional<ScoreCacheCounts> score_cache_counts(const Scorer& scorer);

}  // namespace relucent
