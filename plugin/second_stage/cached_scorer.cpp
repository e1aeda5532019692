#include <fmt/core.h>

#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "plugin/second_stage/score_cache.h"
#include "relucent/error.h"

namespace relucent {
namespace {

class CachedScorer final : public Scorer {
 public:
  CachedScorer(std::shared_ptr<const Scorer> scorer, std::size_t bytes) : scorer_(std::move(scorer)), cache_(bytes) {}

  ScoreCacheCounts counts() const { return cache_.counts(); }

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    const std::vector<Hash128> hashes = hashes_of(query, candidates, stop);
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (const auto known = cache_.find(hashes[i])) {
        scores[i] = *known;
        scores[i].cached = true;
      } else {
        unknown.push_back(i);
      }
    }
    if (unknown.empty()) return {};
    if (unknown.size() == candidates.size()) return score_all(query, candidates, scores, hashes, stop);

    std::vector<Candidate> rest;
    for (const std::size_t i : unknown) rest.push_back(candidates[i]);
    std::vector<CandidateScore> computed(rest.size());
    ScoringStats stats = scorer_->timed_score(query, rest, computed, stop);
    if (!stats.fallback.empty()) {
      const StageTimes spent = stats.times;
      stats = score_all(query, candidates, scores, hashes, stop);
      stats.times += spent;
      return stats;
    }
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      scores[unknown[i]] = computed[i];
      keep(hashes[unknown[i]], computed[i]);
    }
    return stats;
  }

  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                   const StopSignal& stop) const override {
    return scorer_->passage(candidate, score, stop);
  }
  InputKinds inputs() const override { return scorer_->inputs(); }
  bool cacheable() const override { return true; }
  std::string describe() const override { return scorer_->describe(); }
  std::string notice() const override { return scorer_->notice(); }
  std::string warning() const override { return scorer_->warning(); }

 private:
  std::vector<Hash128> hashes_of(std::string_view query, std::span<const Candidate> candidates,
                                 const StopSignal& stop) const {
    KeyedHash of_query(key_);
    of_query.add_field(query);
    const InputKinds kinds = scorer_->inputs();
    std::vector<Hash128> hashes;
    hashes.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
      stop.throw_if_due("looking up scores");
      KeyedHash hash = of_query;
      hash.add_field(candidate.text);
      for (const auto& kind : kinds) {
        if (kind->role() == InputRole::saves_work) continue;
        const auto input = candidate.input(kind->name());
        hash.add_field(input ? kind->name() : "");
        hash.add_field(input.value_or(""));
      }
      hashes.push_back(hash.value());
    }
    return hashes;
  }

  ScoringStats score_all(std::string_view query, std::span<const Candidate> candidates,
                         std::span<CandidateScore> scores, const std::vector<Hash128>& hashes,
                         const StopSignal& stop) const {
    for (CandidateScore& score : scores) score = {};
    ScoringStats stats = scorer_->timed_score(query, candidates, scores, stop);
    if (!stats.fallback.empty()) return stats;
    for (std::size_t i = 0; i < hashes.size(); ++i) keep(hashes[i], scores[i]);
    return stats;
  }

  void keep(const Hash128& hash, const CandidateScore& score) const {
    if (std::isfinite(score.score)) cache_.keep(hash, score);
  }

  std::shared_ptr<const Scorer> scorer_;
  const KeyedHash::Key key_ = KeyedHash::random_key();
  mutable ScoreCache cache_;
};

}  // namespace

std::shared_ptr<const Scorer> with_score_cache(std::shared_ptr<const Scorer> scorer, std::int32_t megabytes) {
  if (megabytes < 1 || !scorer->cacheable() || score_cache_counts(*scorer)) return scorer;
  try {
    return std::make_shared<CachedScorer>(std::move(scorer), static_cast<std::size_t>(megabytes) << 20);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::io, "[rescorer] cache_mb", fmt::format("there are no {} MB of memory", megabytes),
                "set a smaller one");
  }
}

std::optional<ScoreCacheCounts> score_cache_counts(const Scorer& scorer) {
  const auto* const cached = dynamic_cast<const CachedScorer*>(&scorer);
  return cached != nullptr ? std::optional(cached->counts()) : std::nullopt;
}

}  // namespace relucent
