#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relucent/export.h"
#include "relucent/times.h"

namespace relucent {

/// What the second stage did with a hit.
enum class HitStatus {
  rescored,       ///< scored by the model
  without_text,   ///< in the rescore window, but without stored text
  beyond_window,  ///< below the rescore window
  not_rescored,   ///< the whole result is in first-stage order (RescoreReport::status states why)
};
/// "rescored", "without_text", "beyond_window", "not_rescored".
RELUCENT_API const char* to_string(HitStatus status) noexcept;

/// One hit after the second stage, in every form of a result: Lucene++'s, a session's, the server's, a reranked file's.
struct HitOutcome {
  HitStatus status = HitStatus::not_rescored;
  double first_stage_score = 0;
  std::int32_t first_stage_rank = 0;  ///< from 1
  std::optional<float> logit;         ///< the scorer's raw score if rescored; with several stages the last one's
  /// The raw scores of the stages that scored it, from the first on; the last one is `logit`.
  std::vector<float> stage_logits;
  std::int32_t tokens = 0;  ///< of the model's input; 0 if the scorer does not count them
  bool truncated = false;   ///< the model did not see the end of the text
  bool cached = false;      ///< `logit` is from the cache of scores (`[rescorer] cache_mb`)
};

/// The second stage's outcome for one query.
enum class RescoreStatus {
  rescored,       ///< the model scored hits of the rescore window
  no_hits,        ///< the first stage found nothing
  no_query_text,  ///< not rescored: the query has no text for the model (e.g. a MatchAllDocsQuery). Not a failure
  no_hit_text,    ///< not rescored: no hit of the rescore window has stored text. Not a failure
  failed,         ///< not rescored: the second stage failed or missed its deadline
};
/// "rescored", "no_hits", "no_query_text", "no_hit_text", "failed".
RELUCENT_API const char* to_string(RescoreStatus status) noexcept;

/// What one stage of the second stage did.
struct StageReport {
  std::string scorer;         ///< Scorer::describe()
  std::int32_t rescored = 0;  ///< hits that it scored
  std::int32_t cached = 0;    ///< of them, those whose scores are from the cache
  StageTimes times;           ///< fetch, tokenize, encode, device and combine
};

/// What the second stage did for one query.
struct RescoreReport {
  RescoreStatus status = RescoreStatus::no_hits;
  /// The search did not run as configured. Either a GPU failed and the CPU scored instead (then `rescored` is above 0),
  /// or the second stage failed or missed its deadline, and all hits have first-stage order and scores; with on_error =
  /// previous_stage those of the stages that finished, if any did (then `rescored` is also above 0).
  bool degraded = false;
  bool by_earlier_stages = false;  ///< a stage failed, and the order is that of the stages before it
  /// Why the result is degraded or not rescored, with the remedy if there is one; otherwise empty. Also empty without
  /// hits.
  std::string reason;
  std::int32_t rescored = 0;        ///< candidates in the window that the model scored
  std::int32_t without_text = 0;    ///< candidates in the window that have no stored text
  std::int32_t truncated = 0;       ///< candidates whose end the model did not see
  std::int32_t encoded = 0;         ///< candidates encoded now, because the index has no embedding of them
  std::int32_t cached = 0;          ///< scores taken from the cache instead of computed, by all stages
  bool query_truncated = false;     ///< the model did not see the end of the query
  std::vector<StageReport> stages;  ///< those that finished: one, unless [[rescorer.stages]] names several
  StageTimes times;                 ///< the sum over all stages
};

}  // namespace relucent
