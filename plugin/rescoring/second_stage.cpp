#include "plugin/rescoring/second_stage.h"

#include <IndexSearcher.h>

#include <algorithm>
#include <chrono>

#include "plugin/index/commit_data.h"
#include "base/checksum.h"
#include "plugin/lucene_errors.h"
#include "relucent/error.h"
#include "plugin/rescoring/restore_words.h"

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

StopSignal deadline_after(std::int32_t milliseconds) {
  StopSignal stop;
  if (milliseconds > 0) stop.deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
  return stop;
}

bool has_text(const ModelQuery& query) {
  return !query.stems.empty() || query.text.find_first_not_of(" \t\r\n\f\v") != std::string::npos;
}

/// The first stage's order and scores.
void keep_first_stage(SecondStageResult& result, RescoreStatus status, const std::string& reason) {
  result.status = status;
  result.reason = reason;
  result.in_first_stage_order = true;
  result.scores.clear();
  result.order.clear();
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    CombinedHit hit;
    hit.index = i;
    hit.score = static_cast<float>(result.hits[i].score);
    result.order.push_back(hit);
  }
}

// A rule of a host's own may break its promises; hits must not be lost or doubled by it.
void require_valid(const std::vector<CombinedHit>& order, std::size_t hits) {
  std::vector<bool> seen(hits);
  for (const auto& hit : order) {
    if (hit.index >= hits || seen[hit.index]) {
      throw Error(ErrorKind::internal, "combine", "named hit " + std::to_string(hit.index) + " twice or wrongly");
    }
    seen[hit.index] = true;
  }
}

/// Whether the index has token ids that the scorer can use.
bool has_token_ids(const SecondStage& stage, const Lucene::SearcherPtr& searcher) {
  const std::uint64_t wanted = stage.scorer.tokenizer();
  if (wanted == 0) return false;
  const auto over_one_reader = boost::dynamic_pointer_cast<Lucene::IndexSearcher>(searcher);
  if (!over_one_reader) return false;
  const std::uint64_t stored = tokenizer_of_token_ids(over_one_reader->getIndexReader());
  if (stored == wanted || stored == 0) return stored == wanted;
  std::call_once(stage.said.token_ids_are_others, [&] {
    stage.log.warning("the index's token ids are of the tokenizer " + to_hex(stored) + ", the model's is " +
                      to_hex(wanted) + ": the texts are tokenized instead (said once)");
  });
  return false;
}

void score_texts(const SecondStage& stage, std::string_view query, const CandidateTexts& texts, const StopSignal& stop,
                 SecondStageResult& result) {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < texts.texts.size(); ++i) {
    if (texts.texts[i].empty()) continue;
    const FirstStageHit& hit = result.hits[i];
    candidates.push_back({texts.ids[i], texts.texts[i], hit.score, hit.rank, texts.tokens(i)});
    places.push_back(i);
  }
  if (candidates.empty()) {
    result.status = RescoreStatus::no_hit_text;
    result.reason = "none of the " + std::to_string(texts.texts.size()) + " hits in the rescore window has stored text";
    std::call_once(stage.said.no_hit_has_text, [&] {
      stage.log.warning(result.reason + " in the field \"" + stage.config.index.text_field +
                        "\"; the first stage's order stands (said once)");
    });
    return;
  }
  result.status = RescoreStatus::rescored;
  std::vector<CandidateScore> scores(candidates.size());
  const auto start = Clock::now();
  try {
    ScoringAccount account = stage.scorer.timed_score(query, candidates, scores, stop);
    result.milliseconds.tokenize = account.tokenize;
    result.milliseconds.encode = milliseconds_since(start) - account.tokenize;
    result.milliseconds.device = account.device;
    result.degraded = !account.fallback.empty();
    result.reason = std::move(account.fallback);
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // a module may throw anything
    throw Error(ErrorKind::internal, stage.scorer.describe(), "threw something unknown");
  }
  for (std::size_t i = 0; i < places.size(); ++i) result.scores[places[i]] = scores[i];
}

void rescore_window(const SecondStage& stage, const Lucene::SearcherPtr& searcher, const ModelQuery& query,
                    const CombineRule& combine_rule, SecondStageResult& result) {
  const StopSignal stop = deadline_after(stage.config.rescorer.timeout_ms);
  const auto window = std::min(result.hits.size(), static_cast<std::size_t>(stage.config.rescorer.window));

  auto start = Clock::now();
  const CandidateTexts texts = fetch_texts(searcher, std::span(result.hits).first(window), stage.config.index,
                                           has_token_ids(stage, searcher), stop);
  if (!query.stems.empty()) result.query_text = restore_words(query.stems, texts.texts, stop);
  result.milliseconds.fetch = milliseconds_since(start);

  result.scores.resize(window);
  score_texts(stage, result.query_text, texts, stop, result);
  // A scorer may have missed the deadline without noticing.
  stop.throw_if_due("rescoring");

  start = Clock::now();
  std::vector<double> first_stage_scores;
  for (const auto& hit : result.hits) first_stage_scores.push_back(hit.score);
  std::vector<std::optional<float>> logits;
  for (const auto& score : result.scores) logits.push_back(score ? std::optional(score->score) : std::nullopt);
  result.order = combine_rule(first_stage_scores, logits);
  require_valid(result.order, result.hits.size());
  result.milliseconds.combine = milliseconds_since(start);
}

void fall_back(SecondStageResult& result, const Error& error) {
  // A device may have failed before.
  const std::string reason = error.what() + (result.degraded ? "; before that: " + result.reason : "");
  keep_first_stage(result, RescoreStatus::failed, reason);
  result.degraded = true;
}

}  // namespace

bool Said::first_time(const std::string& reason) {
  constexpr std::size_t most = 100;
  const std::lock_guard lock(mutex_);
  if (reasons_.size() >= most) reasons_.clear();
  return reasons_.insert(reason).second;
}

SecondStageResult SecondStage::run(const Lucene::SearcherPtr& searcher, std::vector<FirstStageHit> hits,
                                   const ModelQuery& query, const CombineRule& combine_rule) const {
  SecondStageResult result;
  result.query_text = query.text;
  result.hits = std::move(hits);
  if (result.hits.empty()) return result;
  if (!has_text(query)) {
    result.query_text.clear();
    keep_first_stage(result, RescoreStatus::no_query_text, "the query has no text for the model to read");
    return result;
  }
  try {
    with_errors("second stage", "rescoring the hits",
                [&] { rescore_window(*this, searcher, query, combine_rule, result); });
    if (result.degraded && said.first_time(result.reason)) log.warning("degraded: " + result.reason + " (said once)");
  } catch (const Error& error) {
    if (config.rescorer.on_error == OnError::fail) throw;
    fall_back(result, error);
    // What cannot be supported will not be next time either; other troubles come and go.
    const bool lasts = error.kind() == ErrorKind::unsupported;
    if (!lasts || said.first_time(result.reason)) {
      log.warning("answered in the first stage's order: " + result.reason + (lasts ? " (said once)" : ""));
    }
  }
  return result;
}

std::vector<FirstStageHit> first_stage_hits(const Lucene::TopDocsPtr& firstPass) {
  std::vector<FirstStageHit> hits;
  std::int32_t place = 0;
  for (const auto& hit : firstPass->scoreDocs) {
    ++place;
    if (const auto rescored = boost::dynamic_pointer_cast<RescoredHit>(hit)) {
      hits.push_back({rescored->doc, rescored->firstStageScore, rescored->firstStageRank});
    } else {
      hits.push_back({hit->doc, hit->score, place});
    }
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const FirstStageHit& a, const FirstStageHit& b) { return a.rank < b.rank; });
  return hits;
}

}  // namespace relucent
