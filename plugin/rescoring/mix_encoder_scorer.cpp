#include "plugin/rescoring/mix_encoder_scorer.h"

#include <fmt/format.h>

#include <vector>

#include "plugin/rescoring/device_fallback.h"
#include "relucent/error.h"
#include "relucent/model/mix_encoder.h"

namespace relucent {
namespace {

/// The keys that change what a cross-encoder reads: a MixEncoder's texts are always encoded as its checkpoint says.
void refuse_other_keys(const RescorerConfig& config) {
  const auto refuse = [](const char* key) {
    throw Error(ErrorKind::usage, fmt::format("[rescorer] {}", key), "does not apply to a MixEncoder",
                "remove the key: a MixEncoder reads each text once, up to the candidate_max_length of its config.json");
  };
  if (config.max_length != 0) refuse("max_length");
  if (config.attention_window) refuse("attention_window");
  if (config.pattern != PatternChoice::checkpoint) refuse("pattern");
  if (config.long_documents != LongDocumentMode::truncate) refuse("long_documents");
}

class MixEncoderScorer final : public Scorer {
 public:
  explicit MixEncoderScorer(const RescorerConfig& config)
      : encoders_(config, [config](const BackendOptions& options) {
          refuse_other_keys(config);
          return MixEncoder::load(config.model, options);
        }) {
    const auto encoder = encoders_.needed_encoder();
    shape_ = {encoder->fingerprint(), encoder->rows(), encoder->hidden()};
  }

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<MixCandidate> texts;
    texts.reserve(candidates.size());
    for (const Candidate& candidate : candidates) texts.push_back({candidate.text, candidate.embedding});
    const auto [mixed, reason] =
        encoders_.score([&](const MixEncoder& encoder) { return encoder.score(query, texts, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const MixScore& of = mixed.candidates.at(i);
      scores[i] = {of.score, of.tokens, of.truncated, mixed.query_truncated};
    }
    return {mixed.times, reason};
  }

  EmbeddingShape embedding_shape() const override { return shape_; }

  void encode(std::span<const std::string_view> texts, std::span<float> embeddings,
              const StopSignal& stop) const override {
    encoders_.needed_encoder()->encode(texts, embeddings, stop);
  }

  std::string describe() const override {
    const auto encoder = encoders_.encoder();
    if (!encoder) return "MixEncoder, not loaded: " + encoders_.problem();
    return fmt::format("MixEncoder {} on {}, candidates of at most {} tokens in {} {}",
                       encoder->checkpoint().lexically_normal().string(), relucent::describe(encoder->backend()),
                       encoder->max_length(), encoder->rows(), encoder->rows() == 1 ? "vector" : "vectors");
  }

  std::string notice() const override { return encoders_.notice(); }

 private:
  DeviceFallback<MixEncoder> encoders_;
  EmbeddingShape shape_;
};

}  // namespace

std::shared_ptr<const Scorer> make_mix_encoder_scorer(const RescorerConfig& config) {
  return std::make_shared<MixEncoderScorer>(config);
}

}  // namespace relucent
