#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <ScoreDoc.h>
#include <TopDocs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relucent/export.h"
#include "relucent/rescore_candidates.h"
#include "relucent/text_range.h"
#include "relucent/times.h"

namespace relucent {
// NOLINTBEGIN(readability-identifier-naming): in the style of Lucene++, whose users call this

struct SecondStageResult;

/// A part of a document's stored text.
struct HitPassage {
  std::string field;  ///< the stored field
  TextRange bytes;    ///< of what stored_text() returns for it: whole characters, without white space at both ends
};

/// A hit as the second stage returns it. `score` is the combined score.
class RELUCENT_API RescoredHit : public Lucene::ScoreDoc {
 public:
  RescoredHit(std::int32_t document, double score);
  ~RescoredHit() override;

  enum class Status {
    rescored,       ///< scored by the model
    without_text,   ///< in the rescore window, but without stored text
    beyond_window,  ///< below the rescore window
    not_rescored,   ///< the whole result is in first-stage order (RescoredTopDocs::status says why)
  };

  double firstStageScore = 0;
  std::int32_t firstStageRank = 0;  ///< from 1
  Status status = Status::not_rescored;
  std::optional<float> logit;  ///< the scorer's raw score if status is `rescored`; with several stages the last one's
  /// The raw scores of the stages that scored it, from the first on; the last one is `logit`.
  std::vector<float> stageLogits;
  std::int32_t tokens = 0;  ///< of the model's input; 0 if the scorer does not count them
  bool truncated = false;   ///< the model did not see the end of the text
  bool cached = false;      ///< `logit` is from the cache of scores (`[rescorer] cache_mb`)
  /// The part of the text that gave the score: the chunk with the greatest logit, or what the model read of a text in
  /// one piece. Absent if status is not `rescored`, the scorer does not know it, the deadline came first, or
  /// `[rescorer] find_passages` is false.
  std::optional<HitPassage> passage;
};
using RescoredHitPtr = boost::shared_ptr<RescoredHit>;

/// What one stage of the second stage did.
struct StageReport {
  std::string scorer;         ///< Scorer::describe()
  std::int32_t rescored = 0;  ///< hits that it scored
  std::int32_t cached = 0;    ///< of them, those whose scores are from the cache
  StageTimes times;           ///< fetch, tokenize, encode, device and combine
};

/// Source of the query text that the model read.
enum class QueryTextSource {
  query,  ///< a RescoreQuery, as made by RescoringQueryParser
  scope,  ///< a QueryTextScope on the searching thread
  terms,  ///< assembled from the query's terms: the least exact
  none,   ///< no text
};
RELUCENT_API const char* to_string(QueryTextSource source) noexcept;

/// The result of a rescoring search: TopDocs plus a report of how they were computed. Its scoreDocs are RescoredHits.
/// totalHits is the first stage's; maxScore is the combined score of the best hit.
class RELUCENT_API RescoredTopDocs : public Lucene::TopDocs {
 public:
  RescoredTopDocs(std::int32_t totalHits, const Lucene::Collection<Lucene::ScoreDocPtr>& hits, double maxScore);
  ~RescoredTopDocs() override;

  RescoreStatus status = RescoreStatus::no_hits;

  /// The search did not run as configured. Either a GPU failed and the CPU scored instead (then `rescored` is above 0),
  /// or the second stage failed or missed its deadline, and all hits have first-stage order and scores; with on_error =
  /// previous_stage those of the stages that finished, if any did (then `rescored` is above 0, too).
  bool degraded = false;
  /// Why the result is degraded or not rescored, with the remedy if there is one; otherwise empty. Also empty without
  /// hits.
  std::string reason;

  std::string queryText;  ///< UTF-8, as the model got it
  QueryTextSource queryTextSource = QueryTextSource::none;

  std::int32_t rescored = 0;       ///< candidates in the window that the model scored
  std::int32_t withoutText = 0;    ///< candidates in the window that have no stored text
  std::int32_t truncated = 0;      ///< candidates whose end the model did not see
  std::int32_t encoded = 0;        ///< candidates encoded now, because the index has no embedding of them
  std::int32_t cached = 0;         ///< scores taken from the cache instead of computed, by all stages
  bool queryTruncated = false;     ///< the model did not see the end of the query
  std::int32_t belowMinScore = 0;  ///< hits dropped by min_score, among those this search collected

  std::vector<StageReport> stages;  ///< those that finished: one, unless [[rescorer.stages]] names several

  /// The sum over all stages. `parse` is known if RescoringQueryParser or makeTextQuery() made the query, `first_stage`
  /// if a RescoringSearcher searched.
  StageTimes times;

  std::shared_ptr<const SecondStageResult> details;  ///< for Rescorer::explain(): the scores of the rescore window
};
using RescoredTopDocsPtr = boost::shared_ptr<RescoredTopDocs>;

// NOLINTEND(readability-identifier-naming)
}  // namespace relucent
