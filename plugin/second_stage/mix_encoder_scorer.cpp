#include <fmt/core.h>

#include <vector>

#include "plugin/second_stage/built_in_scorers.h"
#include "plugin/second_stage/device_fallback.h"
#include "plugin/second_stage/encoder_options.h"
#include "relucent/model/mix_encoder.h"

namespace relucent {
namespace {

std::shared_ptr<const MixEncoder> load_mix_encoder(const ScorerConfig& config, const BackendOptions& options) {
  refuse_text_keys(config, "a MixEncoder", "reads each text once, up to the candidate_max_length of its config.json");
  auto encoder = MixEncoder::load(config.model, options);
  encoder->require_scores();
  return encoder;
}

class MixEncoderScorer final : public ModelScorer<MixEncoder> {
 public:
  MixEncoderScorer(const ScorerConfig& config, OnError on_error)
      : ModelScorer("MixEncoder", config, on_error, load_mix_encoder) {
    const auto encoder = models_.needed_encoder();
    const auto encode = [this](std::span<const std::string_view> texts, const StopSignal& stop) {
      const auto current = models_.needed_encoder();
      const auto size = static_cast<std::size_t>(current->rows()) * static_cast<std::size_t>(current->hidden());
      std::vector<float> states(texts.size() * size);
      current->encode(texts, states, stop);
      std::vector<std::vector<float>> embeddings;
      for (auto at = states.begin(); at != states.end(); at += static_cast<std::ptrdiff_t>(size)) {
        embeddings.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
      }
      return embeddings;
    };
    embeddings_ = std::make_shared<const EmbeddingKind>(
        EmbeddingShape{encoder->fingerprint(), encoder->rows(), encoder->hidden()}, encode);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<MixCandidate> texts;
    texts.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
      texts.push_back({candidate.text, EmbeddingKind::read(candidate.input(EmbeddingKind::kName).value_or(""))});
    }
    const auto [mixed, reason] =
        models_.score([&](const MixEncoder& encoder) { return encoder.score(query, texts, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const MixScore& of = mixed.candidates.at(i);
      scores[i] = {of.score, of.tokens, of.truncated, mixed.query_truncated};
    }
    return {mixed.times, reason};
  }

  InputKinds inputs() const override { return {embeddings_}; }

  std::string describe_model(const MixEncoder& encoder) const override {
    return fmt::format("MixEncoder {} on {}, candidates of at most {} tokens in {} {}",
                       encoder.checkpoint().lexically_normal().string(), relucent::describe(encoder.backend()),
                       encoder.max_length(), encoder.rows(), encoder.rows() == 1 ? "vector" : "vectors");
  }

 private:
  std::shared_ptr<const EmbeddingKind> embeddings_;
};

}  // namespace

std::shared_ptr<const Scorer> make_mix_encoder_scorer(const ScorerConfig& config, OnError on_error) {
  return std::make_shared<MixEncoderScorer>(config, on_error);
}

}  // namespace relucent
