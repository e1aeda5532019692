#include "rescoring/cross_encoder_scorer.h"

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {
namespace {

LongDocuments long_documents_of(LongDocumentMode mode) {
  switch (mode) {
    case LongDocumentMode::truncate: return LongDocuments::truncate;
    case LongDocumentMode::maxp: return LongDocuments::maxp;
    case LongDocumentMode::firstp: return LongDocuments::firstp;
    case LongDocumentMode::sump: return LongDocuments::sump;
  }
  return LongDocuments::truncate;
}

std::shared_ptr<const CrossEncoder> load(const RescorerConfig& config) {
  CrossEncoderOptions options;
  options.backend.device = config.device;
  options.backend.precision = parse_precision(config.precision);
  options.backend.threads = config.threads;
  options.max_length = config.max_length;
  options.attention_window = config.attention_window;
  options.long_documents = long_documents_of(config.long_documents);
  options.chunk = config.chunk;
  options.stride = config.stride;
  const auto checkpoint = config.model.empty() ? default_model() : std::filesystem::path(config.model);
  try {
    return CrossEncoder::load(checkpoint, options);
  } catch (const Error& error) {
    // `auto` promises an answer: an accelerator that is there but does not work is no reason to give up.
    if (config.device != "auto" || error.kind() != ErrorKind::device) throw;
    options.backend.device = "cpu";
    return CrossEncoder::load(checkpoint, options);
  }
}

PairDocument document_of(const Candidate& candidate) {
  if (!candidate.tokens) return {candidate.text};
  return {candidate.text, candidate.tokens->ids, candidate.tokens->all ? PairDocument::Ids::all : PairDocument::Ids::first};
}

class CrossEncoderScorer final : public Scorer {
 public:
  explicit CrossEncoderScorer(std::shared_ptr<const CrossEncoder> encoder) : encoder_(std::move(encoder)) {}

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringTimes timed_score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
                           const StopSignal& stop) const override {
    std::vector<PairDocument> documents;
    documents.reserve(candidates.size());
    for (const Candidate& candidate : candidates) documents.push_back(document_of(candidate));
    const PairScores pairs = encoder_->score_documents(query, documents, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PairScore& pair = pairs.documents.at(i);
      scores[i] = {pair.logit, pair.tokens, pair.truncated, pairs.query_truncated};
    }
    return {pairs.tokenize_ms};
  }

  std::uint64_t tokenizer() const override { return encoder_->tokenizer().fingerprint(); }

  std::string describe() const override {
    const BackendInfo& backend = encoder_->backend();
    return "cross-encoder " + encoder_->checkpoint().lexically_normal().string() + " on " + backend.device + " (" +
           backend.instruction_set + ", " + to_string(backend.precision) + ", " + std::to_string(backend.threads) +
           (backend.threads == 1 ? " thread" : " threads") + "), at most " + std::to_string(encoder_->max_length()) +
           " tokens";
  }

 private:
  std::shared_ptr<const CrossEncoder> encoder_;
};

}  // namespace

std::shared_ptr<const Scorer> make_cross_encoder_scorer(const RescorerConfig& config) {
  return std::make_shared<CrossEncoderScorer>(load(config));
}

}  // namespace relucent
