#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/lucene/graphs/index_graphs.h"
#include "plugin/lucene/log.h"
#include "plugin/lucene/search/candidate_texts.h"
#include "plugin/lucene/search/reader_cache.h"
#include "plugin/second_stage/embeddings.h"
#include "relucent/rescore_candidates.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/scorer.h"

namespace relucent {

/// The query for the model: a text, or stems to be turned into words once the candidates' texts are known.
struct ModelQuery {
  std::string text;  ///< UTF-8, well-formed
  std::vector<std::string> stems;
};

/// The stored embeddings of a stage's hits.
struct HitEmbeddings {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<float> values;
  std::vector<std::size_t> places;  ///< by hit: where its values begin, or kNone
  std::size_t size = 0;             ///< values per hit

  bool has(std::size_t hit) const { return hit < places.size() && places[hit] != kNone; }
  /// Empty if the hit has none.
  std::span<const float> of(std::size_t hit) const {
    return has(hit) ? std::span(values).subspan(places[hit], size) : std::span<const float>();
  }
};

/// The second stage's result for one query.
struct SecondStageResult {
  std::vector<FirstStageHit> hits;        ///< in first-stage order
  RescoredCandidates rescored;            ///< its indices are into hits
  std::string query_text;                 ///< as the model got it
  CandidateTexts texts;                   ///< of the hits in the rescore window, as far as they were needed
  std::vector<HitEmbeddings> embeddings;  ///< by stage
  std::int32_t encoded = 0;               ///< hits that were encoded now, because the index has no embedding of them
  std::vector<bool> use_token_ids;        ///< by stage: whether its scorer can use the index's
  /// [stages][hits]: records of graphs, for stages that need them; otherwise empty.
  std::vector<std::vector<std::optional<std::string>>> graphs;
  StopSignal stop;  ///< the deadline

  /// Drops what only a scorer reads; what remains explains the hits' scores.
  void drop_inputs();
};

/// Messages that a rescorer logs only once.
struct LoggedOnce {
  std::once_flag terms_are_read, token_ids_are_others, no_hit_has_text;

  /// Whether this reason is new. Thread-safe.
  bool first_time(const std::string& reason);

 private:
  std::mutex mutex_;
  std::set<std::string> reasons_;  ///< the latest ones
};

/// What the stages opened next to the indexes that they searched. Thread-safe.
struct OpenedRecords {
  ReaderCache<StoredEmbeddings> embeddings;
  ReaderCache<IndexGraphs> graphs;
};

/// The second stage of a searcher: stored texts, then rescore_in_stages(), under one deadline.
struct SecondStage {
  const Config& config;
  std::span<const RescoringStage> stages;
  const Log& log;
  LoggedOnce& logged_once;
  OpenedRecords& opened;

  /// Opens what the stages read next to the index, so that no search has to. Throws Error if a stage needs embeddings
  /// or graphs that the index lacks.
  void require_records(const Lucene::IndexReaderPtr& reader) const;

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
