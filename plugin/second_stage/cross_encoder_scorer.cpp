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

LongDocuments long_documents_of(LongDocumentMode mode) {
  switch (mode) {
    case LongDocumentMode::truncate: return LongDocuments::truncate;
    case LongDocumentMode::maxp: return LongDocuments::maxp;
    case LongDocumentMode::firstp: return LongDocuments::firstp;
    case LongDocumentMode::sump: return LongDocuments::sump;
    case LongDocumentMode::avgp: return LongDocuments::avgp;
    case LongDocumentMode::topk: return LongDocuments::topk;
  }
  return LongDocuments::truncate;
}

std::optional<NamedPattern> pattern_of(PatternChoice choice) {
  switch (choice) {
    case PatternChoice::checkpoint: return std::nullopt;
    case PatternChoice::full: return NamedPattern::full;
    case PatternChoice::longformer: return NamedPattern::longformer;
    case PatternChoice::qds: return NamedPattern::qds;
    case PatternChoice::sparse: return NamedPattern::sparse;
  }
  return std::nullopt;
}

std::shared_ptr<const CrossEncoder> load_encoder(const RescorerConfig& config, const BackendOptions& backend) {
  CrossEncoderOptions options;
  options.backend = backend;
  options.max_length = config.max_length;
  options.max_query_length = config.max_query_length;
  options.attention_window = config.attention_window;
  options.pattern = pattern_of(config.pattern);
  options.long_documents = long_documents_of(config.long_documents);
  options.by_sentences = config.chunk_by == ChunkBy::sentences;
  options.chunk = config.chunk;
  options.stride = config.stride;
  options.max_chunks = config.max_chunks;
  options.first_chunks = config.keep_chunks == KeepChunks::first;
  options.top_chunks = config.top_chunks;
  return CrossEncoder::load(config.model.empty() ? default_model() : std::filesystem::path(config.model), options);
}

class CrossEncoderScorer final : public Scorer {
 public:
  explicit CrossEncoderScorer(const RescorerConfig& config)
      : sentences_(config.pattern == PatternChoice::qds),
        encoders_(config, [config](const BackendOptions& backend) { return load_encoder(config, backend); }) {}

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
    return encoder ? encoder->warning() : "";
  }

 private:
  bool sentences_;  // are marked, so texts are needed, not stored ids
  DeviceFallback<CrossEncoder> encoders_;
};

}  // namespace

std::shared_ptr<const Scorer> make_cross_encoder_scorer(const RescorerConfig& config) {
  return std::make_shared<CrossEncoderScorer>(config);
}

}  // namespace relucent
