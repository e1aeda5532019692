#include "relucent/rescore_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

std::vector<double> first_stage_scores(std::span<const Candidate> candidates) {
  std::vector<double> scores;
  scores.reserve(candidates.size());
  for (const Candidate& candidate : candidates) scores.push_back(candidate.first_stage_score);
  return scores;
}

// A host's rule may break its contract; it must not duplicate hits.
void require_valid(const std::vector<CombinedHit>& order, std::size_t hits) {
  std::vector<bool> seen(hits);
  for (const CombinedHit& hit : order) {
    if (hit.index >= hits || seen[hit.index]) {
      throw Error(ErrorKind::internal, "combine",
                  fmt::format("returned hit {} twice, or it does not exist", hit.index));
    }
    seen[hit.index] = true;
  }
}

void score_window(const Scorer& scorer, std::string_view query, std::span<const Candidate> window,
                  const StopSignal& stop, RescoredCandidates& result) {
  std::vector<Candidate> with_text;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (window[i].text.empty()) continue;
    with_text.push_back(window[i]);
    places.push_back(i);
  }
  result.scores.resize(window.size());
  if (with_text.empty()) {
    result.status = RescoreStatus::no_hit_text;
    result.reason = fmt::format("none of the {} hits in the rescore window has stored text", window.size());
    return;
  }
  result.status = RescoreStatus::rescored;
  std::vector<CandidateScore> scores(with_text.size());
  const auto start = Clock::now();
  ScoringStats account = scorer.timed_score(query, with_text, scores, stop);
  result.times.tokenize = account.times.tokenize;
  result.times.encode = time_since(start) - account.times.tokenize;
  result.times.device = account.times.device;
  result.degraded = !account.fallback.empty();
  result.reason = std::move(account.fallback);
  for (std::size_t i = 0; i < places.size(); ++i) result.scores[places[i]] = scores[i];
  // The scorer may have missed the deadline without noticing.
  stop.throw_if_due("rescoring");
}

void combine_scores(std::span<const Candidate> candidates, const CombineRule& rule, RescoredCandidates& result) {
  const auto start = Clock::now();
  std::vector<std::optional<float>> logits;
  for (const auto& score : result.scores) logits.push_back(score ? std::optional(score->score) : std::nullopt);
  result.order = rule(first_stage_scores(candidates), logits);
  require_valid(result.order, candidates.size());
  result.times.combine = time_since(start);
}

/// Turns exceptions of a scorer module or a host's rule into Errors.
template <class Action>
void with_foreign_exceptions(const Scorer& scorer, const Action& action) {
  constexpr std::string_view place = "second stage";
  try {
    action();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::io, place, "rescoring the hits: out of memory");
  } catch (const std::exception& exception) {
    throw Error(ErrorKind::io, place, fmt::format("rescoring the hits: {}", exception.what()));
  } catch (...) {  // a module may throw anything
    throw Error(ErrorKind::internal, scorer.describe(), "threw an unknown exception");
  }
}

}  // namespace

RescoredCandidates first_stage_order(std::span<const double> scores, RescoreStatus status, std::string reason) {
  RescoredCandidates result;
  result.status = status;
  result.reason = std::move(reason);
  result.in_first_stage_order = true;
  result.degraded = status == RescoreStatus::failed;
  result.order.resize(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    result.order[i].index = i;
    result.order[i].score = static_cast<float>(scores[i]);
  }
  return result;
}

RescoredCandidates rescore_candidates(const Scorer& scorer, std::string_view query,
                                      std::span<const Candidate> candidates, const RescorerConfig& config,
                                      const StopSignal& stop, const CombineRule& combine_rule) {
  if (candidates.empty()) return {};
  if (is_blank(query)) {
    return first_stage_order(first_stage_scores(candidates), RescoreStatus::no_query_text,
                             "the query has no text for the model to read");
  }
  RescoredCandidates result;
  const auto window = std::min(candidates.size(), static_cast<std::size_t>(config.window));
  const CombineRule rule =
      combine_rule ? combine_rule : [&](auto scores, auto logits) { return combine(scores, logits, config); };
  try {
    with_foreign_exceptions(scorer, [&] {
      score_window(scorer, query, candidates.first(window), stop, result);
      combine_scores(candidates, rule, result);
    });
    return result;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted || config.on_error == OnError::fail) throw;
    // A device may have failed earlier.
    std::string reason = error.what();
    if (result.degraded) reason += "; before that: " + result.reason;
    RescoredCandidates failed =
        first_stage_order(first_stage_scores(candidates), RescoreStatus::failed, std::move(reason));
    failed.failure = error.kind();
    failed.times = result.times;
    return failed;
  }
}

const char* to_string(RescoreStatus status) noexcept {
  switch (status) {
    case RescoreStatus::rescored: return "rescored";
    case RescoreStatus::no_hits: return "no_hits";
    case RescoreStatus::no_query_text: return "no_query_text";
    case RescoreStatus::no_hit_text: return "no_hit_text";
    case RescoreStatus::failed: return "failed";
  }
  return "failed";
}

}  // namespace relucent
