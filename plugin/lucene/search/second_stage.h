#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/lucene/log.h"
#include "plugin/lucene/search/candidate_texts.h"
#include "plugin/lucene/search/logged_once.h"
#include "plugin/lucene/search/reader_cache.h"
#include "relucent/rescore_candidates.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/scorer.h"

namespace relucent {

/// The query for the model: a text, or stems to be turned into words once the candidates' texts are known.
struct ModelQuery {
  std::string text;  ///< UTF-8, well-formed
  std::vector<std::string> stems;
  std::optional<StopSignal> stop;  ///< none: the thread's StopScope
};

/// A first-stage hit, and what was read of it for the stages.
struct SecondStageHit : FirstStageHit {
  HitText text;                                                 ///< if it was needed
  std::vector<std::vector<std::optional<std::string>>> inputs;  ///< by stage, then as Scorer::inputs()
  std::vector<std::string_view> read_instead;                   ///< by stage: the kind that stood for the text, if any
};

/// The second stage's result for one query.
struct SecondStageResult {
  std::vector<SecondStageHit> hits;  ///< in first-stage order
  RescoredCandidates rescored;       ///< its indices are into hits
  std::string query_text;            ///< as the model got it
  std::int32_t encoded = 0;          ///< hits that were encoded now, because the index has no embedding of them

  /// Drops what only a scorer reads; what remains explains the hits' scores.
  void drop_inputs();
};

/// What the stages opened of the indexes that they searched.
using OpenedInputs = ReaderCache<InputSources>;

/// The second stage of a searcher: stored texts, then rescore_in_stages(), under one deadline.
struct SecondStage {
  const Config& config;
  std::span<const RescoringStage> stages;
  const Log& log;
  LoggedOnce& logged_once;
  OpenedInputs& opened;

  /// Opens what the stages read of the index besides texts, so that no search has to. Throws Error if the index lacks
  /// inputs that a stage needs.
  void require_inputs(const Lucene::IndexReaderPtr& reader) const;

  /// @param hits  in first-stage order
  /// After a failure, returns the first stage's order, or throws Error with on_error = fail.
  SecondStageResult run(const Lucene::SearcherPtr& searcher, std::vector<FirstStageHit> hits, const ModelQuery& query,
                        const CombineRule& combine) const;

  /// The best passage of the hit with this index; nullopt if it is unknown. Never throws because of the deadline or a
  /// scorer.
  std::optional<HitPassage> passage(const SecondStageResult& result, std::size_t hit) const;
};

/// The hits of firstPass in first-stage order: unchanged, or sorted by their first-stage ranks if they were rescored
/// before.
std::vector<FirstStageHit> first_stage_hits(const Lucene::TopDocsPtr& firstPass);

}  // namespace relucent
