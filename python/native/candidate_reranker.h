#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/config.h"
#include "relucent/rescore_candidates.h"

namespace relucent::python {

/// One query's candidates after the second stage.
struct Reranked : RescoreReport {
  std::vector<std::int64_t> order;  ///< indices of the candidates, best first
  std::vector<float> scores;        ///< combined scores in this order
  std::vector<float> logits;        ///< by candidate; NaN for one that the last stage did not score
};

/// The second stage on candidates without an index, as `relucent rerank` runs it. Thread-safe.
class CandidateReranker {
 public:
  /// Throws Error, `unsupported` for a model that reads more than texts.
  explicit CandidateReranker(const SecondStageConfig& config);

  /// @param texts   in first-stage order; a blank one means that the candidate has no text
  /// @param scores  of the first stage, one per text, or empty if score_mode is `replace`
  /// Throws Error.
  Reranked rerank(std::string_view query, std::span<const std::string_view> texts, std::span<const double> scores,
                  const std::stop_token& stop) const;

  const std::vector<RescoringStage>& stages() const noexcept { return stages_; }

 private:
  SecondStageConfig config_;
  std::vector<RescoringStage> stages_;
};

}  // namespace relucent::python
