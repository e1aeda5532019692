#include "python/native/pair_scorer.h"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <mutex>
#include <utility>

#include "python/native/blank.h"
#include "python/native/jobs.h"
#include "relucent/error.h"

namespace relucent::python {

PairScorer::PairScorer(const SecondStageConfig& config) {
  if (!config.stages.empty()) {
    throw Error(ErrorKind::unsupported, "[rescorer] stages", "a CrossEncoder is one model",
                "make one for each stage, or search with a Searcher");
  }
  stage_ = {make_scorer(config), config};
  open_inputs(std::span(&stage_, 1));
}

PairResults PairScorer::score(std::span<const std::string_view> queries, std::span<const std::string_view> documents,
                              const std::stop_token& stop) const {
  PairResults results;
  results.scores.resize(documents.size());
  results.tokens.resize(documents.size());
  results.truncated.resize(documents.size());
  const std::vector<EqualTexts> groups = by_first_text(queries, kPairsAtOnce);
  std::mutex mutex;
  run_jobs(groups.size(), kModelJobs, stop, [&](std::size_t group, const StopSignal& signal) {
    const auto& [query, places] = groups[group];
    if (is_blank(query)) {
      throw Error(ErrorKind::usage, "pair " + std::to_string(places.front()), "its query is empty",
                  "say what the document is to be compared with");
    }
    std::vector<Candidate> candidates;
    for (const std::size_t place : places) {
      candidates.push_back({{}, documents[place], 0, static_cast<std::int32_t>(candidates.size()) + 1});
    }
    std::vector<CandidateScore> scores(places.size());
    const auto started = std::chrono::steady_clock::now();
    ScoringStats stats = score_candidates(stage_, query, std::move(candidates), scores, signal);
    const std::chrono::nanoseconds time = time_since(started);
    for (std::size_t i = 0; i < places.size(); ++i) {
      results.scores[places[i]] = scores[i].unreadable ? std::numeric_limits<float>::quiet_NaN() : scores[i].score;
      results.tokens[places[i]] = scores[i].tokens;
      results.truncated[places[i]] = scores[i].truncated ? 1 : 0;
    }
    const std::lock_guard lock(mutex);
    for (const CandidateScore& score : scores)
      results.query_truncated = results.query_truncated || score.query_truncated;
    results.times.tokenize += stats.times.tokenize;
    results.times.encode += time - stats.times.tokenize;
    results.times.device += stats.times.device;
    if (results.fallback.empty()) results.fallback = std::move(stats.fallback);
  });
  return results;
}

PairClassifier::PairClassifier(const SecondStageConfig& config)
    : name_(std::filesystem::path(config.model).filename().string()),
      classifier_(Classifier::load(model_folder(config.model),
                                   {config, BackendOptions{config.device, config.precision, config.threads, {}}})) {}

std::vector<float> PairClassifier::classify(std::span<const std::string_view> queries,
                                            std::span<const std::string_view> documents,
                                            const std::stop_token& stop) const {
  std::vector<float> logits(documents.size() * classifier_->labels().size());
  const std::vector<EqualTexts> groups = by_first_text(queries, kPairsAtOnce);
  run_jobs(groups.size(), kModelJobs, stop, [&](std::size_t group, const StopSignal& signal) {
    classify_group(*classifier_, groups[group], documents, logits, signal);
  });
  return logits;
}

std::string PairClassifier::describe() const { return name_ + " on " + relucent::describe(classifier_->backend()); }

}  // namespace relucent::python
