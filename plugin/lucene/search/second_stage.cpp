#include "plugin/lucene/search/second_stage.h"

#include <IndexSearcher.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/checksum.h"
#include "base/text.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/segment_identities.h"
#include "plugin/second_stage/cascade.h"
#include "plugin/second_stage/model_text.h"
#include "plugin/second_stage/restore_words.h"
#include "relucent/error.h"
#include "relucent/stop_scope.h"

namespace relucent {
namespace {

bool has_text(const ModelQuery& query) {
  return !query.stems.empty() || query.text.find_first_not_of(" \t\r\n\f\v") != std::string::npos;
}

/// The reader behind a searcher over one index; otherwise null.
Lucene::IndexReaderPtr reader_of(const Lucene::SearcherPtr& searcher) {
  const auto over_one_reader = boost::dynamic_pointer_cast<Lucene::IndexSearcher>(searcher);
  return over_one_reader ? over_one_reader->getIndexReader() : nullptr;
}

/// Whether the index has token ids that the scorer can use.
bool has_token_ids(const SecondStage& stage, const Scorer& scorer, const Lucene::SearcherPtr& searcher) {
  const std::uint64_t wanted = scorer.tokenizer();
  if (wanted == 0) return false;
  const Lucene::IndexReaderPtr reader = reader_of(searcher);
  if (!reader) return false;
  const std::uint64_t stored = tokenizer_of_token_ids(reader);
  const bool same_text = stage.config.index.fields_read() == std::vector{stage.config.index.text_field};
  if ((stored == wanted && same_text) || stored == 0) return stored == wanted;
  std::call_once(stage.logged_once.token_ids_are_others, [&] {
    if (!same_text) {
      stage.log.warning(
          "the index's token ids are of one field, but text_fields names others: tokenizing the texts "
          "instead (logged once)");
      return;
    }
    stage.log.warning(
        fmt::format("the index's token ids are from the tokenizer {}, but the model's is {}: tokenizing the texts "
                    "instead (logged once)",
                    to_hex(stored), to_hex(wanted)));
  });
  return false;
}

/// Never null. @param reader  null if the searcher is not over one index
std::shared_ptr<const StoredEmbeddings> open_embeddings(const SecondStage& stage, std::size_t index,
                                                        const Lucene::IndexReaderPtr& reader, const StopSignal& stop) {
  return stage.opened.embeddings.of(reader, index, stop, [&] {
    const IndexSegments segments = reader ? index_segments(reader) : IndexSegments();
    if (segments.segments.empty() && (!reader || reader->maxDoc() > 0)) {
      return std::make_shared<const StoredEmbeddings>(
          Error(ErrorKind::unsupported, "second stage",
                "the searched index has no folder, next to which embeddings lie", "search an index in a folder"));
    }
    return std::make_shared<const StoredEmbeddings>(segments.folder, identities_of(segments),
                                                    stage.stages[index].scorer->embedding_shape(),
                                                    stage.config.index.fields_read());
  });
}

std::shared_ptr<const IndexGraphs> open_graphs(const SecondStage& stage, std::size_t index, const PassageModel& model,
                                               const Lucene::IndexReaderPtr& reader, const StopSignal& stop) {
  return stage.opened.graphs.of(reader, index, stop, [&] {
    return std::make_shared<const IndexGraphs>(reader, stage.config.index, stage.config.first_stage, model,
                                               stage.stages[index].config.missing_graphs);
  });
}

/// The graphs of hits whose texts were fetched, for a stage that needs them.
void fetch_graphs(const SecondStage& stage, std::size_t index, const Lucene::SearcherPtr& searcher,
                  std::span<const std::size_t> hits, const StopSignal& stop, SecondStageResult& result) {
  const PassageModel* const model = stage.stages[index].scorer->passage_model();
  if (model == nullptr) return;
  const Lucene::IndexReaderPtr reader = reader_of(searcher);
  if (!reader) {
    throw Error(ErrorKind::unsupported, stage.stages[index].scorer->describe(),
                "needs the documents' graphs, but the searcher is not over one index",
                "rescore the hits of each index by itself");
  }
  const auto stored = open_graphs(stage, index, *model, reader, stop);
  result.graphs[index].resize(result.hits.size());
  for (const std::size_t hit : hits) {
    if (result.texts.texts[hit].empty()) continue;
    result.graphs[index][hit] = stored->record(result.hits[hit].document, result.texts.texts[hit], stop);
  }
}

/// Reads the embeddings of a stage's hits, given by their indices. Returns the hits whose texts the stage needs
/// instead.
std::vector<std::size_t> read_embeddings(const SecondStage& stage, std::size_t index,
                                         const Lucene::SearcherPtr& searcher, std::span<const std::size_t> hits,
                                         SecondStageResult& result) {
  constexpr std::size_t between_checks = 64;
  const RescoringStage& of = stage.stages[index];
  HitEmbeddings& embeddings = result.embeddings.at(index);
  embeddings.size = of.scorer->embedding_shape().values();
  if (embeddings.size == 0) return {hits.begin(), hits.end()};
  const auto stored = open_embeddings(stage, index, reader_of(searcher), result.stop);
  embeddings.places.assign(result.hits.size(), HitEmbeddings::kNone);
  embeddings.values.resize(hits.size() * embeddings.size);
  std::vector<std::size_t> without;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (i % between_checks == 0) result.stop.throw_if_due("reading the stored embeddings");
    const std::span<float> room = std::span(embeddings.values).subspan(i * embeddings.size, embeddings.size);
    try {
      if (stored->read(result.hits[hits[i]].document, room) == StoredEmbeddings::Row::stored) {
        embeddings.places[hits[i]] = i * embeddings.size;
      }
    } catch (const Error& error) {
      if (of.config.missing_embeddings == MissingEmbeddings::error) throw;
      if (without.empty() && stage.logged_once.first_time(error.what())) {
        stage.log.warning(fmt::format("encoding hits during searches: {} (logged once)", error.what()));
      }
      without.push_back(hits[i]);
    }
  }
  return without;
}

/// A hit as a stage's candidate; one without stored text has an empty text, and so has one whose embedding suffices.
Candidate candidate_of(const SecondStageResult& result, std::size_t stage, std::size_t hit) {
  Candidate candidate{result.texts.ids[hit], result.texts.texts[hit], result.hits[hit].score, result.hits[hit].rank};
  if (result.use_token_ids[stage]) candidate.tokens = result.texts.tokens(hit);
  candidate.embedding = result.embeddings[stage].of(hit);
  if (!result.graphs[stage].empty()) candidate.graph = result.graphs[stage][hit];
  return candidate;
}

RescoredCandidates in_first_stage_order(const std::vector<FirstStageHit>& hits, RescoreStatus status,
                                        const std::string& reason) {
  std::vector<double> scores;
  for (const FirstStageHit& hit : hits) scores.push_back(hit.score);
  return first_stage_order(scores, status, reason);
}

RescoredCandidates rescore_hits(const SecondStage& stage, const Lucene::SearcherPtr& searcher, const ModelQuery& query,
                                const CombineRule& combine_rule, SecondStageResult& result) {
  const StopSignal* const outer = StopScope::current();
  const StopSignal stop = result.stop =
      (outer != nullptr ? *outer : StopSignal()).within(stage.config.rescorer.timeout);
  std::vector<double> scores;
  scores.reserve(result.hits.size());
  for (const FirstStageHit& hit : result.hits) scores.push_back(hit.score);
  result.embeddings.resize(stage.stages.size());

  const auto candidates = [&](std::size_t index, std::span<const std::size_t> hits) {
    std::vector<Candidate> chosen;
    with_errors("second stage", "rescoring the hits", [&] {
      if (index == 0) {
        for (const RescoringStage& one : stage.stages) {
          result.use_token_ids.push_back(has_token_ids(stage, *one.scorer, searcher));
        }
        result.graphs.resize(stage.stages.size());
      }
      const bool token_ids = std::count(result.use_token_ids.begin(), result.use_token_ids.end(), true) > 0;
      std::vector<std::size_t> without = read_embeddings(stage, index, searcher, hits, result);
      // Stems become words with the help of the window's texts.
      const bool all_texts = index == 0 && !query.stems.empty();
      fetch_texts(searcher, result.hits, all_texts ? hits : without, stage.config.index, token_ids, stop, result.texts);
      if (result.embeddings[index].size != 0) {
        result.encoded += static_cast<std::int32_t>(
            std::ranges::count_if(without, [&](std::size_t hit) { return !result.texts.texts[hit].empty(); }));
      }
      fetch_graphs(stage, index, searcher, hits, stop, result);
      if (index == 0 && !query.stems.empty()) {
        result.query_text = restore_words(query.stems, result.texts.texts, stop);
      }
      chosen.reserve(hits.size());
      for (const std::size_t hit : hits) chosen.push_back(candidate_of(result, index, hit));
    });
    return chosen;
  };
  const CombineRule rule = [&](auto earlier, auto logits) {
    return with_errors("second stage", "rescoring the hits", [&] { return combine_rule(earlier, logits); });
  };
  return rescore_in_stages(stage.config.rescorer, stage.stages, result.query_text, scores, candidates, stop, rule);
}

void log_outcome(const SecondStage& stage, const RescoredCandidates& rescored) {
  if (rescored.status == RescoreStatus::no_hit_text) {
    std::call_once(stage.logged_once.no_hit_has_text, [&] {
      stage.log.warning(fmt::format("{} in the field \"{}\"; keeping the first stage's order (logged once)",
                                    rescored.reason, join(stage.config.index.fields_read(), "\", \"")));
    });
  } else if (rescored.status == RescoreStatus::failed) {
    // An unsupported feature stays unsupported; other failures may be temporary.
    const bool lasts = rescored.failure == ErrorKind::unsupported;
    if (!lasts || stage.logged_once.first_time(rescored.reason)) {
      stage.log.warning(
          fmt::format("keeping the first stage's order: {}{}", rescored.reason, lasts ? " (logged once)" : ""));
    }
  } else if (rescored.degraded && stage.logged_once.first_time(rescored.reason)) {
    stage.log.warning(fmt::format("degraded: {} (logged once)", rescored.reason));
  }
}

}  // namespace

void SecondStageResult::drop_inputs() {
  texts = {};
  graphs.clear();
  for (HitEmbeddings& stage : embeddings) stage.values = {};
}

bool LoggedOnce::first_time(const std::string& reason) {
  constexpr std::size_t most = 100;
  const std::lock_guard lock(mutex_);
  if (reasons_.size() >= most) reasons_.clear();
  return reasons_.insert(reason).second;
}

void SecondStage::require_records(const Lucene::IndexReaderPtr& reader) const {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RescoringStage& stage = stages[i];
    if (const PassageModel* const model = stage.scorer->passage_model()) open_graphs(*this, i, *model, reader, {});
    if (stage.scorer->embedding_shape().rows == 0) continue;
    const auto stored = open_embeddings(*this, i, reader, {});
    if (stage.config.missing_embeddings != MissingEmbeddings::error) continue;
    if (const auto& problem = stored->problem()) {
      opened.embeddings.forget(reader, i);  // it may be repaired before the next attempt
      throw Error(problem->kind(), problem->place(), problem->problem(),
                  problem->remedy() + ", or set [rescorer] missing_embeddings to \"encode\"");
    }
  }
}

SecondStageResult SecondStage::run(const Lucene::SearcherPtr& searcher, std::vector<FirstStageHit> hits,
                                   const ModelQuery& query, const CombineRule& combine_rule) const {
  SecondStageResult result;
  result.query_text = query.text;
  result.hits = std::move(hits);
  if (result.hits.empty()) return result;
  if (!has_text(query)) {
    result.query_text.clear();
    result.rescored =
        in_first_stage_order(result.hits, RescoreStatus::no_query_text, "the query has no text for the model to read");
    return result;
  }
  result.rescored = rescore_hits(*this, searcher, query, combine_rule, result);
  log_outcome(*this, result.rescored);
  return result;
}

std::optional<HitPassage> SecondStage::passage(const SecondStageResult& result, std::size_t hit) const {
  const RescoredCandidates& rescored = result.rescored;
  if (rescored.in_first_stage_order || hit >= rescored.scores.size() || !rescored.scores[hit]) return std::nullopt;
  if (result.stop.due()) return std::nullopt;
  const std::size_t stage = rescored.stage_of(hit);
  const Candidate candidate = candidate_of(result, stage, hit);
  std::string problem = "unknown exception";
  try {
    const auto range = stages[stage].scorer->passage(candidate, *rescored.scores[hit], result.stop);
    if (!range) return std::nullopt;
    if (range->begin <= range->end && range->end <= candidate.text.size()) {
      const auto [field, bytes] = place_in_field(candidate.text, result.texts.parts[hit], *range);
      return HitPassage{config.index.fields_read()[field], bytes};
    }
    problem = "not a range of the text";
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::deadline) return std::nullopt;
    problem = error.what();
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {  // a module may throw anything
  }
  log.warning(fmt::format("the passage of hit \"{}\" is not known: {}", candidate.id, problem));
  return std::nullopt;
}

std::vector<FirstStageHit> first_stage_hits(const Lucene::TopDocsPtr& firstPass) {
  std::vector<FirstStageHit> hits;
  std::int32_t place = 0;
  for (const auto& hit : firstPass->scoreDocs) {
    ++place;
    if (const auto rescored = boost::dynamic_pointer_cast<RescoredHit>(hit)) {
      hits.push_back({rescored->doc, rescored->first_stage_score, rescored->first_stage_rank});
    } else {
      hits.push_back({hit->doc, hit->score, place});
    }
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const FirstStageHit& a, const FirstStageHit& b) { return a.rank < b.rank; });
  return hits;
}

}  // namespace relucent
