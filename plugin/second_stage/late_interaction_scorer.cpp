#include <fmt/core.h>

#include <vector>

#include "plugin/second_stage/built_in_scorers.h"
#include "plugin/second_stage/device_fallback.h"
#include "plugin/second_stage/embeddings.h"
#include "plugin/second_stage/encoder_options.h"
#include "relucent/model/late_interaction.h"

namespace relucent {
namespace {

std::shared_ptr<const LateInteraction> load_late_interaction(const ScorerConfig& config,
                                                             const BackendOptions& options) {
  refuse_text_keys(config, "late interaction and embeddings",
                   "reads texts up to the lengths that the checkpoint states");
  return LateInteraction::load(config.model, options);
}

class LateInteractionScorer final : public ModelScorer<LateInteraction> {
 public:
  LateInteractionScorer(const ScorerConfig& config, OnError on_error)
      : ModelScorer("late interaction", config, on_error, load_late_interaction) {
    const auto encoder = models_.needed_encoder();
    const auto encode = [this](std::span<const std::string_view> texts, const StopSignal& stop) {
      return models_.needed_encoder()->encode(texts, stop);
    };
    embeddings_ =
        std::make_shared<const EmbeddingKind>(EmbeddingShape{encoder->fingerprint(), 0, encoder->size()}, encode);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<LateCandidate> texts;
    texts.reserve(candidates.size());
    for (const Candidate& candidate : candidates) texts.push_back({candidate.text, stored_vectors_of(candidate)});
    const auto [late, reason] =
        models_.score([&](const LateInteraction& encoder) { return encoder.score(query, texts, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const LateScore& of = late.candidates.at(i);
      scores[i] = {of.score, of.tokens, of.truncated, late.query_truncated};
    }
    return {late.times, reason};
  }

  InputKinds inputs() const override { return {embeddings_}; }

  std::string describe_model(const LateInteraction& encoder) const override {
    return fmt::format("{} {} on {}, documents of at most {} tokens, {} a vector of {} numbers",
                       encoder.per_text() ? "embedding model" : "late interaction",
                       encoder.checkpoint().lexically_normal().string(), relucent::describe(encoder.backend()),
                       encoder.max_length(), encoder.per_text() ? "together" : "each", encoder.size());
  }

 private:
  std::shared_ptr<const EmbeddingKind> embeddings_;
};

}  // namespace

std::shared_ptr<const Scorer> make_late_interaction_scorer(const ScorerConfig& config, OnError on_error) {
  return std::make_shared<LateInteractionScorer>(config, on_error);
}

}  // namespace relucent
