#include "relucent/rescore_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

/// Scores the window's candidates that have a text or an embedding. Returns why a fallback scored; empty if none did.
std::string score_window(const RescoringStage& stage, std::string_view query, std::span<const std::size_t> window,
                         std::vector<Candidate> candidates, const StopSignal& stop, StageResult& result) {
  std::vector<std::size_t> places(window.begin(), window.end());
  std::size_t count = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].text.empty() && candidates[i].embedding.empty()) continue;
    candidates[count] = candidates[i];
    places[count++] = window[i];
  }
  candidates.resize(count);
  if (candidates.empty()) return {};
  std::vector<CandidateScore> scores(count);
  const auto start = Clock::now();
  ScoringStats account = stage.scorer->timed_score(query, candidates, scores, stop);
  result.times.tokenize = account.times.tokenize;
  result.times.encode = time_since(start) - account.times.tokenize;
  result.times.device = account.times.device;
  for (std::size_t i = 0; i < count; ++i) {
    if (!scores[i].unreadable) result.scores[places[i]] = scores[i];
  }
  // The scorer may have missed the deadline without noticing.
  stop.throw_if_due("rescoring");
  return std::move(account.fallback);
}

/// All hits in the order of a stage.
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

/// Sets the result's order from the order before and the stage's scores.
void combine_scores(const Order& before, std::size_t window, const CombineRule& rule, StageResult& result) {
  const auto start = Clock::now();
  std::vector<std::optional<float>> logits;
  logits.reserve(window);
  for (const std::size_t hit : std::span(before.hits).first(window)) {
    const auto& score = result.scores[hit];
    logits.push_back(score ? std::optional(score->score) : std::nullopt);
  }
  result.order = rule(before.scores, logits);
  require_valid(result.order, before.hits.size());
  for (CombinedHit& hit : result.order) {
    hit.rescored = hit.rescored || before.rescored[hit.index];
    hit.index = before.hits[hit.index];
  }
  result.times.combine = time_since(start);
}

Order order_of(const StageResult& stage) {
  Order order;
  for (const CombinedHit& hit : stage.order) {
    order.hits.push_back(hit.index);
    order.scores.push_back(hit.score);
    order.rescored.push_back(hit.rescored);
  }
  return order;
}

void append(std::string& reasons, std::string_view reason) {
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
  const bool any =
      std::any_of(result.scores.begin(), result.scores.end(), [](const auto& score) { return score.has_value(); });
  result.status = any ? RescoreStatus::rescored : RescoreStatus::no_hit_text;
  if (!any) {
    result.reason = fmt::format("none of the {} hits in the rescore window has stored text", result.scores.size());
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
    before.order = before.stages.back().order;
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
  result.stages_wanted = stages.size();
  Order order = first_order(scores);
  std::size_t window = scores.size();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RescoringStage& stage = stages[i];
    window = std::min({window, order.hits.size(), static_cast<std::size_t>(stage.config.window)});
    if (i == 0) result.scores.resize(window);
    const bool last = i + 1 == stages.size();
    const CombineRule rule = last && combine_rule ? combine_rule : [&](auto earlier, auto logits) {
      return combine(earlier, logits, stage.config, last ? config.min_score : std::nullopt);
    };
    StageResult done;
    done.scorer = stage.scorer->describe();
    done.scores.resize(result.scores.size());
    std::string fallback;
    try {
      with_foreign_exceptions(*stage.scorer, [&] {
        const std::span hits = std::span(order.hits).first(window);
        const auto start = Clock::now();
        std::vector<Candidate> in_window = candidates(i, hits);
        done.times.fetch = time_since(start);
        fallback = score_window(stage, query, hits, std::move(in_window), stop, done);
        combine_scores(order, window, rule, done);
      });
    } catch (const Error& error) {
      result.times += done.times;
      // A device may have failed earlier.
      append(result.reason, fallback);
      return after_failure(config.on_error, stages.size(), i, error, scores, std::move(result));
    }
    result.times += done.times;
    result.degraded = result.degraded || !fallback.empty();
    append(result.reason, fallback);
    for (std::size_t hit = 0; hit < done.scores.size(); ++hit) {
      if (done.scores[hit]) result.scores[hit] = done.scores[hit];
    }
    order = order_of(done);
    result.stages.push_back(std::move(done));
  }
  result.order = result.stages.back().order;
  set_status(result);
  return result;
}

RescoredCandidates rescore_candidates(const SecondStageConfig& config, std::span<const RescoringStage> stages,
                                      std::string_view query, std::span<const Candidate> candidates,
                                      const StopSignal& stop, const CombineRule& combine_rule) {
  const auto by_index = [&](std::size_t, std::span<const std::size_t> hits) {
    std::vector<Candidate> chosen;
    chosen.reserve(hits.size());
    for (const std::size_t hit : hits) chosen.push_back(candidates[hit]);
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

std::int32_t StageResult::cached() const {
  return static_cast<std::int32_t>(
      std::ranges::count_if(scores, [](const auto& score) { return score && score->cached; }));
}

std::size_t RescoredCandidates::stage_of(std::size_t candidate) const {
  std::size_t stage = stages.size();
  while (stage > 0 && !stages[stage - 1].scores[candidate]) --stage;
  if (stage == 0) throw Error(ErrorKind::usage, fmt::format("candidate {}", candidate + 1), "no stage scored it");
  return stage - 1;
}

HitOutcome RescoredCandidates::outcome(std::size_t candidate) const {
  HitOutcome outcome;
  if (in_first_stage_order) return outcome;
  if (candidate >= scores.size()) {
    outcome.status = HitStatus::beyond_window;
  } else if (const auto& score = scores[candidate]) {
    outcome.status = HitStatus::rescored;
    outcome.logit = score->score;
    outcome.tokens = score->tokens;
    outcome.truncated = score->truncated;
    outcome.cached = score->cached;
    for (const StageResult& stage : stages) {
      if (const auto& given = stage.scores[candidate]) outcome.stage_logits.push_back(given->score);
    }
  } else {
    outcome.status = HitStatus::without_text;
  }
  return outcome;
}

std::vector<std::optional<float>> RescoredCandidates::last_logits() const {
  std::vector<std::optional<float>> logits;
  if (stages.empty() || stages.size() < stages_wanted) return logits;
  for (const auto& score : stages.back().scores) {
    logits.push_back(score ? std::optional(score->score) : std::nullopt);
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
  for (const auto& score : scores) {
    ++(score ? report.rescored : report.without_text);
    if (!score) continue;
    report.truncated += score->truncated ? 1 : 0;
    report.query_truncated = report.query_truncated || score->query_truncated;
  }
  for (const StageResult& stage : stages) {
    const auto scored = std::ranges::count_if(stage.scores, [](const auto& one) { return one.has_value(); });
    report.stages.push_back({stage.scorer, static_cast<std::int32_t>(scored), stage.cached(), stage.times});
    report.cached += stage.cached();
  }
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
