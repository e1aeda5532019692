#include "python/native/candidate_reranker.h"

#include <chrono>
#include <limits>

#include "relucent/error.h"
#include "relucent/stop.h"

namespace relucent::python {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

}  // namespace

CandidateReranker::CandidateReranker(const SecondStageConfig& config)
    : config_(config), stages_(make_stages(config, make_scorers(config))) {
  for (const RescoringStage& stage : stages_) {
    if (stage.scorer->passage_model() == nullptr) continue;
    throw Error(ErrorKind::unsupported, stage.config.model,
                "is a MIR, which needs the graphs of the documents and not their texts alone",
                "search with a Searcher, or use relucent rerank --index");
  }
}

Reranked CandidateReranker::rerank(std::string_view query, std::span<const std::string_view> texts,
                                   std::span<const double> scores, const std::stop_token& stop) const {
  if (is_blank(query)) throw Error(ErrorKind::usage, "query", "is empty", "say what the documents are compared with");
  if (scores.empty() && !texts.empty() && stages_.front().config.score_mode != ScoreMode::replace) {
    throw Error(ErrorKind::usage, "scores", "are missing, which score_mode requires",
                "pass the first stage's scores, or use score_mode = \"replace\"");
  }
  StopSignal signal;
  signal.stop = stop;
  if (config_.timeout.count() > 0) signal.deadline = std::chrono::steady_clock::now() + config_.timeout;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    candidates.push_back({{}, texts[i], scores.empty() ? 0 : scores[i], static_cast<std::int32_t>(i) + 1});
  }
  const RescoredCandidates rescored = rescore_candidates(config_, stages_, query, candidates, signal);
  Reranked result;
  for (const CombinedHit& hit : rescored.order) {
    result.order.push_back(static_cast<std::int64_t>(hit.index));
    result.scores.push_back(hit.score);
  }
  result.logits.assign(texts.size(), std::numeric_limits<float>::quiet_NaN());
  // One model's scores: those of the last stage, unless it failed.
  if (rescored.stages.size() == stages_.size()) {
    const auto& last = rescored.stages.back().scores;
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (last[i]) result.logits[i] = last[i]->score;
    }
  }
  for (const auto& score : rescored.scores) {
    result.truncated += score && score->truncated ? 1 : 0;
    result.query_truncated = result.query_truncated || (score && score->query_truncated);
  }
  result.status = to_string(rescored.status);
  result.degraded = rescored.degraded;
  result.reason = rescored.reason;
  result.times = rescored.times;
  return result;
}

}  // namespace relucent::python
