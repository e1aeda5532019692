#include "plugin/lucene/search/second_stage.h"

#include <IndexSearcher.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/ascii.h"
#include "base/text.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/search/searched_index.h"
#include "plugin/second_stage/cascade.h"
#include "plugin/second_stage/model_text.h"
#include "plugin/second_stage/restore_words.h"
#include "relucent/error.h"
#include "relucent/stop_scope.h"

namespace relucent {
namespace {

bool has_text(const ModelQuery& query) { return !query.stems.empty() || !is_blank(query.text); }

/// The reader behind a searcher over one index; otherwise null.
Lucene::IndexReaderPtr reader_of(const Lucene::SearcherPtr& searcher) {
  const auto over_one_reader = boost::dynamic_pointer_cast<Lucene::IndexSearcher>(searcher);
  return over_one_reader ? over_one_reader->getIndexReader() : nullptr;
}

/// The sources of a stage's inputs. @param reader  null if the searcher is not over one index
std::shared_ptr<const InputSources> open_sources(const SecondStage& stage, std::size_t index,
                                                 const Lucene::IndexReaderPtr& reader, const StopSignal& stop) {
  return stage.opened.of(reader, index, stop, [&] {
    const auto searched = std::make_shared<const SearchedIndex>(reader, stage.config, stage.log, stage.logged_once);
    const RescoringStage& of = stage.stages[index];
    return std::make_shared<const InputSources>(open_inputs(of.scorer->inputs(), searched, of.config));
  });
}

/// Reads what a stage's scorer reads of hits, given by their indices.
class HitReader {
 public:
  HitReader(const SecondStage& stage, std::size_t index, const Lucene::SearcherPtr& searcher, const StopSignal& stop,
            SecondStageResult& result)
      : stage_(stage),
        index_(index),
        searcher_(searcher),
        stop_(stop),
        result_(result),
        kinds_(stage.stages[index].scorer->inputs()),
        sources_(open_sources(stage, index, reader_of(searcher), stop)) {}

  /// @param all_texts  also of hits whose texts the scorer does not need
  void read(std::span<const std::size_t> hits, bool all_texts) {
    for (const std::size_t hit : hits) {
      result_.hits[hit].inputs.resize(stage_.stages.size());
      result_.hits[hit].inputs[index_].resize(kinds_.size());
      result_.hits[hit].read_instead.resize(stage_.stages.size());
    }
    const std::vector<std::size_t> read_by_text = read_instead_of_texts(hits);
    read_texts(all_texts ? hits : read_by_text);
    if (read_by_text_is_encoding()) {
      result_.encoded += static_cast<std::int32_t>(
          std::ranges::count_if(read_by_text, [&](std::size_t hit) { return !result_.hits[hit].text.text.empty(); }));
    }
  }

 private:
  static constexpr std::size_t kHitsBetweenChecks = 64;

  bool has(std::size_t kind, InputRole role) const { return (*sources_)[kind] && (kinds_[kind]->role() == role); }

  bool read_by_text_is_encoding() const {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (has(kind, InputRole::instead)) return true;
    }
    return false;
  }

  /// Reads what stands for texts. Returns the hits that are read by their texts.
  std::vector<std::size_t> read_instead_of_texts(std::span<const std::size_t> hits) {
    std::vector<std::size_t> rest(hits.begin(), hits.end());
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (!has(kind, InputRole::instead)) continue;
      std::size_t seen = 0;
      std::erase_if(rest, [&](std::size_t hit) {
        if (seen++ % kHitsBetweenChecks == 0) stop_.throw_if_due("reading the stored inputs");
        SecondStageHit& one = result_.hits[hit];
        auto& input = one.inputs[index_][kind] = (*sources_)[kind]->read({one.document, {}, {}}, stop_);
        if (input && !input->empty()) one.read_instead[index_] = kinds_[kind]->name();
        return input.has_value();
      });
    }
    return rest;
  }

  void read_texts(std::span<const std::size_t> hits) {
    std::vector<std::string> fields;
    std::vector<std::size_t> kinds;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (!(*sources_)[kind] || has(kind, InputRole::instead)) continue;
      kinds.push_back(kind);
      fields.push_back((*sources_)[kind]->stored_field());
    }
    std::vector<std::string> stored_fields = fields;
    std::erase(stored_fields, "");
    std::vector<WantedText> wanted;
    for (const std::size_t hit : hits) wanted.push_back({result_.hits[hit].document, &result_.hits[hit].text});
    fetch_texts(searcher_, wanted, stage_.config.index, stored_fields, stop_);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      SecondStageHit& hit = result_.hits[hits[i]];
      if (hit.text.text.empty()) continue;
      auto stored = wanted[i].stored.begin();
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        InputDocument document{hit.document, hit.text.id, hit.text.text};
        if (!fields[k].empty()) document.stored = *stored++;
        hit.inputs[index_][kinds[k]] = (*sources_)[kinds[k]]->read(document, stop_);
      }
    }
  }

  const SecondStage& stage_;
  std::size_t index_;
  const Lucene::SearcherPtr& searcher_;
  const StopSignal& stop_;
  SecondStageResult& result_;
  InputKinds kinds_;
  std::shared_ptr<const InputSources> sources_;
};

/// A hit as a stage's candidate; one without stored text has an empty text, and so has one that is read without it.
Candidate candidate_of(const SecondStageResult& result, const InputKinds& kinds, std::size_t stage, std::size_t hit) {
  const SecondStageHit& of = result.hits[hit];
  Candidate candidate{of.text.id, of.text.text, of.score, of.rank};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (const auto& input = of.inputs[stage][kind]) candidate.inputs.push_back({kinds[kind]->name(), *input});
  }
  return candidate;
}

std::vector<double> scores_of(const std::vector<SecondStageHit>& hits) {
  std::vector<double> scores;
  scores.reserve(hits.size());
  for (const SecondStageHit& hit : hits) scores.push_back(hit.score);
  return scores;
}

RescoredCandidates rescore_hits(const SecondStage& stage, const Lucene::SearcherPtr& searcher, const ModelQuery& query,
                                const CombineRule& combine_rule, SecondStageResult& result) {
  // Lucene++'s search() passes no signal on.
  const StopSignal* const outer = query.stop ? &*query.stop : StopScope::current();
  const auto candidates = [&](std::size_t index, std::span<const std::size_t> hits, const StopSignal& stop) {
    std::vector<Candidate> chosen;
    with_errors("second stage", "rescoring the hits", [&] {
      // Stems become words with the help of the window's texts.
      const bool stems = index == 0 && !query.stems.empty();
      HitReader(stage, index, searcher, stop, result).read(hits, stems);
      if (stems) {
        std::vector<std::string_view> texts;
        for (const SecondStageHit& hit : result.hits) texts.push_back(hit.text.text);
        result.query_text = restore_words(query.stems, texts, stop);
      }
      const InputKinds kinds = stage.stages[index].scorer->inputs();
      chosen.reserve(hits.size());
      for (const std::size_t hit : hits) chosen.push_back(candidate_of(result, kinds, index, hit));
    });
    return chosen;
  };
  const CombineRule rule = [&](auto earlier, auto logits) {
    return with_errors("second stage", "rescoring the hits", [&] { return combine_rule(earlier, logits); });
  };
  return rescore_in_stages(stage.config.rescorer, stage.stages, result.query_text, scores_of(result.hits), candidates,
                           outer != nullptr ? *outer : StopSignal(), rule);
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
  for (SecondStageHit& hit : hits) {
    hit.text = {};
    hit.inputs = {};
  }
}

void SecondStage::require_inputs(const Lucene::IndexReaderPtr& reader) const {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto sources = open_sources(*this, i, reader, {});
    for (const auto& source : *sources) {
      const std::optional<Error> problem = source ? source->problem() : std::nullopt;
      if (!problem) continue;
      opened.forget(reader, i);  // it may be repaired before the next attempt
      throw Error(*problem);
    }
  }
}

SecondStageResult SecondStage::run(const Lucene::SearcherPtr& searcher, std::vector<FirstStageHit> hits,
                                   const ModelQuery& query, const CombineRule& combine_rule) const {
  SecondStageResult result;
  result.query_text = query.text;
  for (const FirstStageHit& hit : hits) result.hits.emplace_back(SecondStageHit{hit, {}, {}, {}});
  if (result.hits.empty()) return result;
  if (!has_text(query)) {
    result.query_text.clear();
    result.rescored = first_stage_order(scores_of(result.hits), RescoreStatus::no_query_text,
                                        "the query has no text for the model to read");
    return result;
  }
  result.rescored = rescore_hits(*this, searcher, query, combine_rule, result);
  log_outcome(*this, result.rescored);
  return result;
}

std::optional<HitPassage> SecondStage::passage(const SecondStageResult& result, std::size_t hit) const {
  const RescoredCandidates& rescored = result.rescored;
  const StageScore* const last = rescored.last_score(hit);
  if (rescored.in_first_stage_order || last == nullptr || rescored.stop.due()) return std::nullopt;
  const std::size_t stage = last->stage;
  const Candidate candidate = candidate_of(result, stages[stage].scorer->inputs(), stage, hit);
  std::string problem = "unknown exception";
  try {
    const auto range = stages[stage].scorer->passage(candidate, last->score, rescored.stop);
    if (!range) return std::nullopt;
    if (range->begin <= range->end && range->end <= candidate.text.size()) {
      const auto [field, bytes] = place_in_field(candidate.text, result.hits[hit].text.parts, *range);
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
