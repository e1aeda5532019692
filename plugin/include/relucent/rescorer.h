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
#include "relucent/rescored_top_docs.h"
#include "relucent/scorer.h"

namespace relucent {

struct ModelQuery;

/// The second stage as an explicit step, for programs that search by themselves; modelled on Apache Lucene's Rescorer.
/// Thread-safe.
class RELUCENT_API Rescorer {
 public:
  /// Makes the scorer that `config` names. Throws Error.
  explicit Rescorer(const Config& config);
  /// With a scorer of the caller's.
  Rescorer(const Config& config, std::shared_ptr<const Scorer> scorer);
  virtual ~Rescorer();

  /// Rescores the first `[rescorer] window` hits of firstPass against queryText (UTF-8) and returns the best n of all.
  /// The hits of firstPass are in the first stage's order and stay as they are; rescoring a result again gives it
  /// again. A failure or a missed deadline gives firstPass's order, marked degraded, or throws Error with
  /// on_error = fail; a blank queryText gives firstPass's order, which is no failure. `searcher` is where the stored
  /// fields are read from.
  RescoredTopDocsPtr rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                             std::string_view queryText, std::int32_t n) const;

  /// Explains the score that rescore() gives `document`: the combination, firstPassExplanation and the model's part.
  /// firstPass must be what rescore() was given, since normalization and status depend on the other hits.
  Lucene::ExplanationPtr explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                 const Lucene::ExplanationPtr& firstPassExplanation, std::string_view queryText,
                                 std::int32_t document) const;

  const Config& config() const noexcept;
  const Scorer& scorer() const noexcept;

 protected:
  /// Orders the hits; the default is relucent::combine with [rescorer]. To be replaced by a rule of your own that keeps
  /// to its promises: an index at most once, scores that do not increase.
  virtual std::vector<CombinedHit> combine(std::span<const double> firstStageScores,
                                           std::span<const std::optional<float>> logits) const;

 private:
  friend class RescoringSearcher;
  RescoredTopDocsPtr rescore(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                             const ModelQuery& query, std::int32_t n) const;
  Lucene::ExplanationPtr explain(const Lucene::SearcherPtr& searcher, const Lucene::TopDocsPtr& firstPass,
                                 const Lucene::ExplanationPtr& firstPassExplanation, const ModelQuery& query,
                                 std::int32_t document) const;

  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace relucent
