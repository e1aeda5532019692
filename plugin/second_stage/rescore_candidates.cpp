#include "relucent/rescore_candidates.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <new>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "plugin/second_stage/cascade.h"
#include "relucent/score_cache.h"

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

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

/// The candidates in the order of a stage.
struct Order {
  std::vector<std::size_t> hits;
  std::vector<double> scores;  // by place
  std::vector<bool> rescored;  // by place
};

Order first_order(std::span<const double> scores) {
  Order order{
      std::vector<std::size_t>(scores.size()), {scores.begin(), scores.end()}, std::vector<bool>(scores.size(), false)};
  std::iota(order.hits.begin(), order.hits.end(), std::size_t{0});
  return order;
}

Order order_of(const std::vector<CombinedHit>& hits) {
  Order order;
  for (const CombinedHit& hit : hits) {
    order.hits.push_back(hit.index);
    order.scores.push_back(hit.score);
    order.rescored.push_back(hit.rescored);
  }
  return order;
}

/// What one stage did.
struct StageRun {
  std::vector<std::optional<CandidateScore>> scores;  // [window], by place in the order before
  std::vector<CombinedHit> order;
  StageReport report;
  std::string fallback;  // why a fallback scored; empty if none did
};

/// Scores the window's candidates that have something to read.
void score_window(const RescoringStage& stage, std::string_view query, std::vector<Candidate> candidates,
                  const StopSignal& stop, StageRun& run) {
  std::vector<std::size_t> places;
  const InputKinds kinds = stage.scorer->inputs();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!has_something_to_read(candidates[i], kinds)) continue;
    if (places.size() != i) candidates[places.size()] = std::move(candidates[i]);
    places.push_back(i);
  }
  candidates.resize(places.size());
  if (candidates.empty()) return;
  std::vector<CandidateScore> scores(candidates.size());
  const auto start = Clock::now();
  ScoringStats account = stage.scorer->timed_score(query, candidates, scores, stop);
  StageTimes& times = run.report.times;
  times.tokenize = account.times.tokenize;
  times.encode = time_since(start) - account.times.tokenize;
  times.device = account.times.device;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (scores[i].unreadable) continue;
    run.scores[places[i]] = scores[i];
    ++run.report.rescored;
    run.report.cached += scores[i].cached ? 1 : 0;
  }
  // The scorer may have missed the deadline without noticing.
  stop.throw_if_due("rescoring");
  run.fallback = std::move(account.fallback);
}

/// Sets the run's order from the order before and the stage's scores.
void combine_scores(const Order& before, const CombineRule& rule, StageRun& run) {
  const auto start = Clock::now();
  std::vector<std::optional<float>> logits;
  for (const auto& score : run.scores) logits.push_back(score ? std::optional(score->score) : std::nullopt);
  run.order = rule(before.scores, logits);
  require_valid(run.order, before.hits.size());
  for (CombinedHit& hit : run.order) {
    hit.rescored = hit.rescored || before.rescored[hit.index];
    hit.index = before.hits[hit.index];
  }
  run.report.times.combine = time_since(start);
}

/// Adds a stage that finished to the result.
void add_stage(std::span<const std::size_t> window, StageRun run, RescoredCandidates& result) {
  const std::size_t stage = result.stages.size();
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (run.scores[i]) result.window[window[i]].stages.push_back({stage, *run.scores[i], {}});
  }
  for (const CombinedHit& hit : run.order) {
    if (hit.index >= result.window.size()) continue;
    auto& stages = result.window[hit.index].stages;
    if (!stages.empty() && stages.back().stage == stage) stages.back().combined = hit;
  }
  result.order = std::move(run.order);
  result.stages.push_back(std::move(run.report));
}

void append_reason(std::string& reasons, std::string_view reason) {
  if (!reasons.empty() && !reason.empty()) reasons += "; ";
  reasons += reason;
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

namespace {

void set_status(RescoredCandidates& result) {
  const bool any = std::ranges::any_of(result.window, [](const auto& one) { return one.last() != nullptr; });
  result.status = any ? RescoreStatus::rescored : RescoreStatus::no_hit_text;
  if (!any) {
    result.reason = fmt::format("none of the {} hits in the rescore window has stored text", result.window.size());
  }
}

/// The answer if a stage failed; `before`: what the stages before it did.
RescoredCandidates after_failure(OnError on_error, std::size_t stages, std::size_t failed, const Error& error,
                                 std::span<const double> scores, RescoredCandidates before) {
  if (error.kind() == ErrorKind::interrupted || on_error == OnError::fail) throw Error(error);
  std::string reason =
      stages > 1 ? fmt::format("stage {} of {}: {}", failed + 1, stages, error.what()) : std::string(error.what());
  if (!before.reason.empty()) reason += "; before that: " + before.reason;
  if (on_error == OnError::previous_stage && !before.stages.empty()) {
    set_status(before);
    before.degraded = true;
    before.reason = std::move(reason);
    before.failure = error.kind();
    return before;
  }
  RescoredCandidates result = first_stage_order(scores, RescoreStatus::failed, std::move(reason));
  result.failure = error.kind();
  result.times = before.times;
  return result;
}

}  // namespace

RescoredCandidates rescore_in_stages(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                     const std::string& query, std::span<const double> scores,
                                     const CandidateSource& candidates, const StopSignal& stop,
                                     const CombineRule& combine_rule) {
  if (scores.empty()) return {};
  if (trim(query).empty()) {
    return first_stage_order(scores, RescoreStatus::no_query_text, "the query has no text for the model to read");
  }
  RescoredCandidates result;
  result.stop = stop.within(config.timeout);
  result.stages_wanted = stages.size();
  Order order = first_order(scores);
  std::size_t window = scores.size();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RescoringStage& stage = stages[i];
    window = std::min({window, order.hits.size(), static_cast<std::size_t>(stage.config.window)});
    if (i == 0) result.window.resize(window);
    const bool last = i + 1 == stages.size();
    const CombineRule rule = last && combine_rule ? combine_rule : [&](auto earlier, auto logits) {
      return combine(earlier, logits, stage.config, last ? config.min_score : std::nullopt);
    };
    const std::span hits = std::span(order.hits).first(window);
    StageRun run;
    run.report.scorer = stage.scorer->describe();
    run.scores.resize(window);
    const auto account = [&] {
      result.times += run.report.times;
      append_reason(result.reason, run.fallback);  // also if the stage failed after its device did
    };
    try {
      with_foreign_exceptions(*stage.scorer, [&] {
        const auto start = Clock::now();
        std::vector<Candidate> in_window = candidates(i, hits, result.stop);
        run.report.times.fetch = time_since(start);
        score_window(stage, query, std::move(in_window), result.stop, run);
        combine_scores(order, rule, run);
      });
    } catch (const Error& error) {
      account();
      return after_failure(config.on_error, stages.size(), i, error, scores, std::move(result));
    }
    account();
    result.degraded = result.degraded || !run.fallback.empty();
    Order next = order_of(run.order);
    add_stage(hits, std::move(run), result);
    order = std::move(next);
  }
  set_status(result);
  return result;
}

RescoredCandidates rescore_candidates(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                      std::string_view query, std::span<const Candidate> candidates,
                                      const StopSignal& stop, const CombineRule& combine_rule) {
  std::deque<std::string> brought;
  const auto by_index = [&](std::size_t stage, std::span<const std::size_t> hits, const StopSignal& due) {
    std::vector<Candidate> chosen;
    chosen.reserve(hits.size());
    for (const std::size_t hit : hits) chosen.push_back(candidates[hit]);
    bring_inputs(stages[stage], chosen, brought, due);
    return chosen;
  };
  return rescore_in_stages(config, stages, std::string(query), first_stage_scores(candidates), by_index, stop,
                           combine_rule);
}

RescoredCandidates rescore_candidates(const Scorer& scorer, std::string_view query,
                                      std::span<const Candidate> candidates, const SecondStageConfig& config,
                                      const StopSignal& stop, const CombineRule& combine_rule) {
  // Not the owner.
  const RescoringStage only{std::shared_ptr<const Scorer>(std::shared_ptr<const Scorer>(), &scorer), config};
  return rescore_candidates(config, std::span(&only, 1), query, candidates, stop, combine_rule);
}

std::vector<std::shared_ptr<const Scorer>> make_scorers(const SecondStageConfig& config) {
  std::vector<std::shared_ptr<const Scorer>> scorers;
  for (const StageConfig& stage : config.effective_stages()) scorers.push_back(make_scorer(stage, config.on_error));
  return scorers;
}

std::vector<RescoringStage> make_stages(const SecondStageConfig& config,
                                        std::vector<std::shared_ptr<const Scorer>> scorers) {
  std::vector<StageConfig> settings = config.effective_stages();
  if (settings.size() != scorers.size()) {
    throw Error(ErrorKind::usage, "Rescorer",
                fmt::format("there are {} stages, but {} scorers", settings.size(), scorers.size()),
                "pass one scorer per stage");
  }
  std::vector<RescoringStage> stages;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (!scorers[i]) throw Error(ErrorKind::usage, "Rescorer", "the scorer is null", "pass a scorer");
    stages.push_back({with_score_cache(std::move(scorers[i]), settings[i].cache_mb), std::move(settings[i])});
  }
  return stages;
}

const StageScore* RescoredCandidates::last_score(std::size_t candidate) const noexcept {
  return candidate < window.size() ? window[candidate].last() : nullptr;
}

HitOutcome RescoredCandidates::outcome(std::size_t candidate) const {
  HitOutcome outcome;
  if (in_first_stage_order) return outcome;
  if (candidate >= window.size()) {
    outcome.status = HitStatus::beyond_window;
  } else if (const StageScore* const last = window[candidate].last()) {
    outcome.status = HitStatus::rescored;
    outcome.logit = last->score.score;
    outcome.tokens = last->score.tokens;
    outcome.truncated = last->score.truncated;
    outcome.cached = last->score.cached;
    for (const StageScore& stage : window[candidate].stages) outcome.stage_logits.push_back(stage.score.score);
  } else {
    outcome.status = HitStatus::without_text;
  }
  return outcome;
}

std::vector<std::optional<float>> RescoredCandidates::last_logits() const {
  std::vector<std::optional<float>> logits;
  if (stages.empty() || stages.size() < stages_wanted) return logits;
  for (const RescoredCandidate& candidate : window) {
    const StageScore* const last = candidate.last();
    logits.push_back(last != nullptr && last->stage + 1 == stages_wanted ? std::optional(last->score.score)
                                                                         : std::nullopt);
  }
  return logits;
}

RescoreReport RescoredCandidates::report() const {
  RescoreReport report;
  report.status = status;
  report.degraded = degraded;
  report.by_earlier_stages = !stages.empty() && stages.size() < stages_wanted;
  report.reason = reason;
  report.times = times;
  report.stages = stages;
  for (const RescoredCandidate& candidate : window) {
    const StageScore* const last = candidate.last();
    ++(last != nullptr ? report.rescored : report.without_text);
    if (last == nullptr) continue;
    report.truncated += last->score.truncated ? 1 : 0;
    report.query_truncated = report.query_truncated || last->score.query_truncated;
  }
  for (const StageReport& stage : stages) report.cached += stage.cached;
  return report;
}

const char* to_string(HitStatus status) noexcept {
  switch (status) {
    case HitStatus::rescored: return "rescored";
    case HitStatus::without_text: return "without_text";
    case HitStatus::beyond_window: return "beyond_window";
    case HitStatus::not_rescored: return "not_rescored";
  }
  return "not_rescored";
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
