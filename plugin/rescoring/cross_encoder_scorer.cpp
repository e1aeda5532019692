#include "plugin/rescoring/cross_encoder_scorer.h"

#include <fmt/format.h>

#include "plugin/rescoring/device_fallback.h"
#include "relucent/kernels/backend.h"

namespace relucent {
namespace {

PairDocument document_of(const Candidate& candidate) {
  if (!candidate.tokens) return {candidate.text};
  return {candidate.text, candidate.tokens->ids,
          candidate.tokens->all ? PairDocument::Ids::all : PairDocument::Ids::first};
}

class CrossEncoderScorer final : public Scorer {
 public:
  explicit CrossEncoderScorer(const RescorerConfig& config)
      : device_(to_string(config.device)), sentences_(config.pattern == PatternChoice::qds), encoders_(config) {}

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<PairDocument> documents;
    documents.reserve(candidates.size());
    for (const Candidate& candidate : candidates) documents.push_back(document_of(candidate));
    const auto [pairs, reason] = encoders_.score(query, documents, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PairScore& pair = pairs.documents.at(i);
      scores[i] = {pair.logit, pair.tokens, pair.truncated, pairs.query_truncated, pair.best};
    }
    return {pairs.times, reason};
  }

  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                   const StopSignal& stop) const override {
    const auto encoder = encoders_.encoder();
    if (!encoder || score.best.begin == score.best.end) return std::nullopt;
    return encoder->place_of(candidate.text, score.best, stop);
  }

  std::uint64_t tokenizer() const override {
    const auto encoder = encoders_.encoder();
    return encoder && !sentences_ ? encoder->tokenizer().fingerprint() : 0;
  }

  bool cacheable() const override { return true; }

  std::string describe() const override {
    const auto encoder = encoders_.encoder();
    if (!encoder) return "cross-encoder, not loaded: " + encoders_.problem();
    return fmt::format("cross-encoder {} on {}, at most {} tokens", encoder->checkpoint().lexically_normal().string(),
                       relucent::describe(encoder->backend()), encoder->max_length());
  }

  std::string notice() const override {
    if (const std::string problem = encoders_.problem(); !problem.empty()) {
      return fmt::format("{} is not available: {}", device_, problem);
    }
    const auto encoder = encoders_.encoder();
    const std::string why = encoder ? encoder->backend().why_no_gpu : "";
    return why.empty() ? "" : "no GPU is used: " + why;
  }

  std::string warning() const override {
    const auto encoder = encoders_.encoder();
    return encoder ? encoder->warning() : "";
  }

 private:
  std::string device_;
  bool sentences_;  // are marked, so texts are needed, not stored ids
  DeviceFallback encoders_;
};

}  // namespace

std::shared_ptr<const Scorer> make_cross_encoder_scorer(const RescorerConfig& config) {
  return std::make_shared<CrossEncoderScorer>(config);
}

}  // namespace relucent
