#include "plugin/rescoring/mix_encoder_scorer.h"

#include <fmt/format.h>

#include <vector>

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

BackendOptions options_of(const RescorerConfig& config) {
  BackendOptions options;
  options.device = config.device;
  options.precision = config.precision;
  options.threads = config.threads;
  return options;
}

class MixEncoderScorer final : public Scorer {
 public:
  explicit MixEncoderScorer(const RescorerConfig& config)
      : encoder_((refuse_other_keys(config), MixEncoder::load(config.model, options_of(config)))) {}

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<MixCandidate> texts;
    texts.reserve(candidates.size());
    for (const Candidate& candidate : candidates) texts.push_back({candidate.text, candidate.embedding});
    const MixScores mixed = encoder_->score(query, texts, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const MixScore& of = mixed.candidates.at(i);
      scores[i] = {of.score, of.tokens, of.truncated, mixed.query_truncated};
    }
    return {mixed.times};
  }

  EmbeddingShape embedding_shape() const override {
    return {encoder_->fingerprint(), encoder_->rows(), encoder_->hidden()};
  }

  void encode(std::span<const std::string_view> texts, std::span<float> embeddings,
              const StopSignal& stop) const override {
    encoder_->encode(texts, embeddings, stop);
  }

  bool cacheable() const override { return true; }

  std::string describe() const override {
    return fmt::format("MixEncoder {} on {}, candidates of at most {} tokens in {} {}",
                       encoder_->checkpoint().lexically_normal().string(), relucent::describe(encoder_->backend()),
                       encoder_->max_length(), encoder_->rows(), encoder_->rows() == 1 ? "vector" : "vectors");
  }

  std::string notice() const override {
    const std::string& why = encoder_->backend().why_no_gpu;
    return why.empty() ? "" : "no GPU is used: " + why;
  }

 private:
  std::shared_ptr<const MixEncoder> encoder_;
};

}  // namespace

std::shared_ptr<const Scorer> make_mix_encoder_scorer(const RescorerConfig& config) {
  return std::make_shared<MixEncoderScorer>(config);
}

}  // namespace relucent
