#include "plugin/rescoring/mix_encoder_scorer.h"

#include <fmt/format.h>

#include <vector>

#include "plugin/rescoring/encoder_options.h"
#include "relucent/model/mix_encoder.h"

namespace relucent {
namespace {

std::shared_ptr<const MixEncoder> load_mix_encoder(const RescorerConfig& config) {
  refuse_text_keys(config, "a MixEncoder", "reads each text once, up to the candidate_max_length of its config.json");
  return MixEncoder::load(config.model, backend_options(config));
}

class MixEncoderScorer final : public Scorer {
 public:
  explicit MixEncoderScorer(const RescorerConfig& config) : encoder_(load_mix_encoder(config)) {}

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
