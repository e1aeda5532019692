#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <ScoreDoc.h>
#include <TopDocs.h>

#include <cstdint>
#include <optional>
#include <string>

#include "relucent/export.h"
#include "relucent/rescore_candidates.h"
#include "relucent/times.h"

namespace relucent {

/// A hit as the second stage returns it. `score` is the combined score.
class RELUCENT_API RescoredHit : public Lucene::ScoreDoc {
 public:
  RescoredHit(std::int32_t document, double score);
  ~RescoredHit() override;

  enum class Status {
    rescored,       ///< scored by the model
    without_text,   ///< in the rescore window, but without stored text
    beyond_window,  ///< ranked by the first stage below the rescore window
    not_rescored,   ///< the whole answer is in the first stage's order (RescoredTopDocs::status says why)
  };

  double firstStageScore = 0;
  std::int32_t firstStageRank = 0;  ///< from 1
  Status status = Status::not_rescored;
  std::optional<float> logit;  ///< the scorer's raw score, where status is `rescored`
  std::int32_t tokens = 0;     ///< of the model's input; 0 where the scorer does not count them
  bool truncated = false;      ///< the model did not see the end of the text
};
using RescoredHitPtr = boost::shared_ptr<RescoredHit>;

/// Where the text came from that the model compared the hits with.
enum class QueryTextSource {
  query,  ///< a RescoreQuery, as RescoringQueryParser makes it
  scope,  ///< a QueryTextScope on the searching thread
  terms,  ///< put together from the query's terms: the least exact
  none,   ///< there is no text
};
RELUCENT_API const char* to_string(QueryTextSource source) noexcept;

/// What a rescoring search returns: TopDocs with an account of how it came about. Its scoreDocs are RescoredHits.
/// totalHits is the first stage's; maxScore is the combined score of the best hit.
class RELUCENT_API RescoredTopDocs : public Lucene::TopDocs {
 public:
  RescoredTopDocs(std::int32_t totalHits, Lucene::Collection<Lucene::ScoreDocPtr> hits, double maxScore);
  ~RescoredTopDocs() override;

  RescoreStatus status = RescoreStatus::no_hits;

  /// Not answered as configured. Either a GPU failed and the CPU scored (`rescored` is above 0 then), or the second
  /// stage failed or came too late: first-stage order and scores, complete.
  bool degraded = false;
  /// Why it is degraded or not rescored, with the remedy where there is one; empty where it is neither, and without
  /// hits.
  std::string reason;

  std::string queryText;  ///< UTF-8, as the model got it
  QueryTextSource queryTextSource = QueryTextSource::none;

  std::int32_t rescored = 0;       ///< candidates in the window that the model scored
  std::int32_t withoutText = 0;    ///< candidates in the window without stored text
  std::int32_t truncated = 0;      ///< candidates whose end the model did not see
  bool queryTruncated = false;     ///< the model did not see the end of the query
  std::int32_t belowMinScore = 0;  ///< hits that min_score dropped, of those within reach of this search

  /// parse is known where RescoringQueryParser or makeTextQuery() made the query, first_stage where a RescoringSearcher
  /// searched.
  StageTimes times;
};
using RescoredTopDocsPtr = boost::shared_ptr<RescoredTopDocs>;

}  // namespace relucent
