#include "python/native/candidate_reranker.h"

#include <chrono>
#include <limits>

#include "python/native/blank.h"
#include "relucent/error.h"
#include "relucent/stop.h"

namespace relucent::python {

CandidateReranker::CandidateReranker(const SecondStageConfig& config)
    : config_(config), stages_(make_stages(config, make_scorers(config))) {
  open_inputs(stages_);
}

Reranked CandidateReranker::rerank(std::string_view query, std::span<const std::string_view> texts,
                                   std::span<const double> scores, const std::stop_token& stop) const {
  if (is_blank(query)) throw Error(ErrorKind::usage, "query", "is empty", "say what the documents are compared with");
  if (scores.empty() && !texts.empty() && stages_.front().config.score_mode != ScoreMode::replace) {
    throw Error(ErrorKind::usage, "scores", "are missing, which score_mode requires",
                "pass the first stage's scores, or use score_mode = \"replace\"");
  }
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    candidates.push_back({{}, texts[i], scores.empty() ? 0 : scores[i], static_cast<std::int32_t>(i) + 1});
  }
  const RescoredCandidates rescored = rescore_candidates(config_, stages_, query, candidates, StopSignal{{}, stop});
  Reranked result;
  for (const CombinedHit& hit : rescored.order) {
    result.order.push_back(static_cast<std::int64_t>(hit.index));
    result.scores.push_back(hit.score);
  }
  result.logits.assign(texts.size(), std::numeric_limits<float>::quiet_NaN());
  const std::vector<std::optional<float>> logits = rescored.last_logits();
  for (std::size_t i = 0; i < logits.size(); ++i) result.logits[i] = logits[i].value_or(result.logits[i]);
  static_cast<RescoreReport&>(result) = rescored.report();
  return result;
}

}  // namespace relucent::python
