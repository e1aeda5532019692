#include "plugin/second_stage/cross_encoder_scorer.h"

#include <fmt/format.h>

#include "plugin/second_stage/device_fallback.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

PairDocument document_of(const Candidate& candidate) {
  if (!candidate.tokens) return {candidate.text};
  return {candidate.text, candidate.tokens->ids,
          candidate.tokens->all ? PairDocument::Ids::all : PairDocument::Ids::first};
}

std::shared_ptr<const CrossEncoder> load_encoder(const ScorerConfig& config, const BackendOptions& backend) {
  return CrossEncoder::load(config.model.empty() ? default_model() : std::filesystem::path(config.model),
                            {config, backend});
}

class CrossEncoderScorer final : public Scorer {
 public:
  CrossEncoderScorer(const ScorerConfig& config, OnError on_error)
      : sentences_(config.pattern == PatternChoice::qds),
        encoders_(config, on_error, [config](const BackendOptions& backend) { return load_encoder(config, backend); }) {
  }

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<PairDocument> documents;
    documents.reserve(candidates.size());
    for (const Candidate& candidate : candidates) documents.push_back(document_of(candidate));
    const auto [pairs, reason] = encoders_.score(
        [&](const CrossEncoder& encoder) { return encoder.score_documents(query, documents, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PairScore& pair = pairs.documents.at(i);
      scores[i] = {pair.logit, pair.tokens, pair.truncated, pair.query_truncated, pair.best};
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
    const std::int32_t of_query = encoder->max_query_length();
    return fmt::format("cross-encoder {} on {}, at most {} tokens{}", encoder->checkpoint().lexically_normal().string(),
                       relucent::describe(encoder->backend()), encoder->max_length(),
                       of_query > 0 ? fmt::format(", {} of the query", of_query) : "");
  }

  std::string notice() const override { return encoders_.notice(); }

  std::string warning() const override {
    const auto encoder = encoders_.encoder();
    const std::string of_model = encoder ? encoder->warning() : "", of_device = encoders_.warning();
    return of_model.empty() || of_device.empty() ? of_model + of_device : of_model + "; " + of_device;
  }

 private:
  bool sentences_;  // are marked, so texts are needed, not stored ids
  DeviceFallback<CrossEncoder> encoders_;
};

}  // namespace

std::shared_ptr<const Scorer> make_cross_encoder_scorer(const ScorerConfig& config, OnError on_error) {
  return std::make_shared<CrossEncoderScorer>(config, on_error);
}

}  // namespace relucent
