#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <ScoreDoc.h>
#include <TopDocs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "relucent/export.h"
#include "relucent/rescore_report.h"
#include "relucent/text_range.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

struct SecondStageResult;

/// A part of a document's stored text.
struct HitPassage {
  std::string field;  ///< the stored field
  TextRange bytes;    ///< of what stored_text() returns for it: whole characters, without white space at both ends
};

/// A hit as the second stage returns it. `score` is the combined score.
class RELUCENT_API RescoredHit : public Lucene::ScoreDoc, public HitOutcome {
 public:
  RescoredHit(std::int32_t document, double score, HitOutcome outcome);
  ~RescoredHit() override;

  /// The part of the text that gave the score: the chunk with the greatest logit, or what the model read of a text in
  /// one piece. Absent if status is not `rescored`, the scorer does not know it, the deadline came first, or
  /// `[rescorer] find_passages` is false.
  std::optional<HitPassage> passage;
};
using RescoredHitPtr = boost::shared_ptr<RescoredHit>;

/// Source of the query text that the model read.
enum class QueryTextSource {
  query,  ///< a RescoreQuery, as made by RescoringQueryParser
  scope,  ///< a QueryTextScope on the searching thread
  terms,  ///< assembled from the query's terms: the least exact
  none,   ///< no text
};
RELUCENT_API const char* to_string(QueryTextSource source) noexcept;

/// The result of a rescoring search: TopDocs plus a report of how they were computed. Its scoreDocs are RescoredHits.
/// totalHits is the first stage's; maxScore is the combined score of the best hit. In `times`, `parse` is known if
/// RescoringQueryParser or makeTextQuery() made the query, `first_stage` if a RescoringSearcher searched.
class RELUCENT_API RescoredTopDocs : public Lucene::TopDocs, public RescoreReport {
 public:
  RescoredTopDocs(std::int32_t totalHits, const Lucene::Collection<Lucene::ScoreDocPtr>& hits, double maxScore,
                  RescoreReport report);
  ~RescoredTopDocs() override;

  bool totalIsExact = true;  ///< false: at least totalHits documents match
  std::string queryText;     ///< UTF-8, as the model got it
  QueryTextSource queryTextSource = QueryTextSource::none;
  std::int32_t belowMinScore = 0;                    ///< hits dropped by min_score, among those this search collected
  std::shared_ptr<const SecondStageResult> details;  ///< for Rescorer::explain(): the scores of the rescore window
};
using RescoredTopDocsPtr = boost::shared_ptr<RescoredTopDocs>;

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
