#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Explanation.h>
#include <Searcher.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "relucent/combine.h"
#include "relucent/config.h"
#include "relucent/export.h"
#include "relucent/rescore_candidates.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/scorer.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

struct ModelQuery;
struct SecondStageResult;

/// The second stage as an explicit step for programs that run the first stage themselves; modelled on Apache Lucene's
/// Rescorer. Thread-safe.
class RELUCENT_API Rescorer {
 public:
  /// Creates the scorers selected by `config`. Throws Error.
  explicit Rescorer(const Config& config);
  /// Uses the caller's scorer.
  Rescorer(const Config& config, std::shared_ptr<const Scorer> scorer);
  /// Uses the caller's scorers, one per stage.
  Rescorer(const Config& config, std::vector<std::shared_ptr<const Scorer>> scorers);
  virtual ~Rescorer();

  /// Rescores the first `[rescorer] window` hits of firstPass against queryText (UTF-8) and returns the best n of all
  /// hits. The hits of firstPass must be in first-stage order; they are not modified. Rescoring is idempotent. After a
  /// failure or a missed deadline, returns the order of firstPass, marked degraded; with on_error = fail it throws
  /// Error instead. A blank queryText returns the order of firstPass and is not a failure. Stored fields are read from
  /// `searcher`.
  RescoredTopDocsPtr rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                             std::string_view queryText, std::int32_t n) const;

  /// Explains the score that rescore() gives `document`: the combination, firstPassExplanation and the model's part.
  /// Pass the same firstPass as to rescore(), since normalization and status depend on the other hits.
  Lucene::ExplanationPtr explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                 const Lucene::ExplanationPtr& firstPassExplanation, std::string_view queryText,
                                 std::int32_t document) const;
  /// The same of what rescore() returned, from the scores that it computed: for any number of documents nothing is
  /// scored again. Throws Error `usage` for hits that no rescorer returned.
  Lucene::ExplanationPtr explain(const RescoredTopDocsPtr& rescored, const Lucene::ExplanationPtr& firstPassExplanation,
                                 std::int32_t document) const;

  const Config& config() const noexcept;
  const Scorer& scorer() const noexcept;                       ///< the last stage's
  const std::vector<RescoringStage>& stages() const noexcept;  ///< at least one

 protected:
  /// Orders the hits. The default is relucent::combine with [rescorer]. An override must keep its contract: each index
  /// at most once, scores that never increase. With several stages, the last one's order: earlier stages use
  /// relucent::combine, and the scores of the order that they gave are the first-stage scores here.
  virtual std::vector<CombinedHit> combine(std::span<const double> firstStageScores,
                                           std::span<const std::optional<float>> logits) const;

 private:
  friend class RescoringSearcher;
  RescoredTopDocsPtr rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                             const ModelQuery& query, std::int32_t n) const;
  Lucene::ExplanationPtr explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                 const Lucene::ExplanationPtr& firstPassExplanation, const ModelQuery& query,
                                 std::int32_t document) const;
  Lucene::ExplanationPtr explain(const SecondStageResult& result, const Lucene::ExplanationPtr& firstPassExplanation,
                                 std::int32_t document) const;

  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
