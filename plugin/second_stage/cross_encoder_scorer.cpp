#include <fmt/core.h>

#include "plugin/second_stage/built_in_scorers.h"
#include "plugin/second_stage/device_fallback.h"
#include "plugin/second_stage/embeddings.h"
#include "plugin/second_stage/token_ids_input.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

/// `ids` are of the candidate's text, if they are known.
PairDocument document_of(const Candidate& candidate, const std::optional<TokenIds>& ids) {
  if (!ids) return {candidate.text};
  return {candidate.text, ids->ids, ids->all ? PairDocument::Ids::all : PairDocument::Ids::first};
}

std::shared_ptr<const CrossEncoder> load_encoder(const ScorerConfig& config, const BackendOptions& backend) {
  auto encoder = CrossEncoder::load(model_folder(config.model), {config, backend});
  encoder->require_scores();
  return encoder;
}

class CrossEncoderScorer final : public ModelScorer<CrossEncoder> {
 public:
  CrossEncoderScorer(const ScorerConfig& config, OnError on_error)
      : ModelScorer("cross-encoder", config, on_error, load_encoder) {
    // Sentences are marked in texts, not in stored ids.
    if (config.pattern != PatternChoice::qds)
      inputs_ = {std::make_shared<TokenIdsKind>([this] { return tokenizer(); })};
    const auto encoder = models_.encoder();
    if (!encoder || encoder->state_size() == 0) return;
    const auto encode = [this](std::span<const std::string_view> texts, const StopSignal& stop) {
      return models_.needed_encoder()->encode(texts, stop);
    };
    inputs_.push_back(std::make_shared<EmbeddingKind>(
        EmbeddingShape{encoder->states_fingerprint(), 0, encoder->state_size()}, encode, true));
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<PairDocument> documents;
    documents.reserve(candidates.size());
    const auto ids = token_ids_of(candidates);
    const bool reads_states = embeddings_of(*this) != nullptr;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      documents.push_back(document_of(candidates[i], ids[i]));
      if (reads_states) documents.back().states = stored_vectors_of(candidates[i]);
    }
    const auto [pairs, reason] = models_.score(
        [&](const CrossEncoder& encoder) { return encoder.score_documents(query, documents, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PairScore& pair = pairs.documents.at(i);
      scores[i] = {pair.logit, pair.tokens, pair.truncated, pair.query_truncated, pair.best};
    }
    return {pairs.times, reason};
  }

  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                   const StopSignal& stop) const override {
    const auto encoder = models_.encoder();
    if (!encoder || candidate.text.empty() || score.best.begin == score.best.end) return std::nullopt;
    return encoder->place_of(candidate.text, score.best, stop);
  }

  InputKinds inputs() const override { return inputs_; }

  /// A Set-Encoder's score of a text depends on the other candidates; an encoder that could not be loaded may be one.
  bool cacheable() const override {
    const auto encoder = models_.encoder();
    return encoder && encoder->most_candidates() == 0;
  }

  std::string describe_model(const CrossEncoder& encoder) const override {
    const std::int32_t of_query = encoder.max_query_length();
    return fmt::format("cross-encoder {} on {}, at most {} tokens{}", encoder.checkpoint().lexically_normal().string(),
                       relucent::describe(encoder.backend()), encoder.max_length(),
                       of_query > 0 ? fmt::format(", {} of the query", of_query) : "");
  }

  std::string warning() const override {
    const auto encoder = models_.encoder();
    const std::string of_model = encoder ? encoder->warning() : "", of_device = models_.warning();
    return of_model.empty() || of_device.empty() ? of_model + of_device : of_model + "; " + of_device;
  }

 private:
  std::uint64_t tokenizer() const {
    const auto encoder = models_.encoder();
    return encoder ? encoder->tokenizer().fingerprint() : 0;
  }

  InputKinds inputs_;
};

}  // namespace

std::shared_ptr<const Scorer> make_cross_encoder_scorer(const ScorerConfig& config, OnError on_error) {
  return std::make_shared<CrossEncoderScorer>(config, on_error);
}

}  // namespace relucent
