#include <algorithm>
#include <utility>

#include "plugin/second_stage/cascade.h"
#include "plugin/second_stage/embeddings.h"
#include "plugin/second_stage/token_ids_input.h"

namespace relucent {

std::shared_ptr<const EmbeddingKind> embeddings_of(const Scorer& scorer) {
  for (const auto& kind : scorer.inputs()) {
    if (auto embeddings = std::dynamic_pointer_cast<const EmbeddingKind>(kind)) return embeddings;
  }
  return nullptr;
}

namespace {

std::shared_ptr<const InputSource> open_input(const InputKind& kind, const std::shared_ptr<const InputIndex>& index,
                                              const StageConfig& stage) {
  if (const auto* const ids = dynamic_cast<const TokenIdsKind*>(&kind)) return open_token_ids(*ids, index);
  if (const auto* const embeddings = dynamic_cast<const EmbeddingKind*>(&kind)) {
    if (!index->has_candidates()) return nullptr;
    if (!embeddings->optional())
      return std::make_shared<StoredEmbeddings>(index, embeddings->shape(), stage.missing_embeddings);
    auto stored = std::make_shared<StoredEmbeddings>(index, embeddings->shape(), MissingEmbeddings::encode);
    return stored->absent() ? nullptr : stored;
  }
  return kind.open(index, stage);
}

}  // namespace

InputSources open_inputs(const InputKinds& kinds, const std::shared_ptr<const InputIndex>& index,
                         const StageConfig& stage) {
  InputSources sources;
  for (const auto& kind : kinds) sources.push_back(open_input(*kind, index, stage));
  return sources;
}

void open_inputs(std::span<RescoringStage> stages, std::shared_ptr<const InputIndex> index) {
  if (!index) index = std::make_shared<const InputIndex>();
  for (RescoringStage& stage : stages) stage.sources = open_inputs(stage.scorer->inputs(), index, stage.config);
}

bool need_index(std::span<const RescoringStage> stages) {
  return std::ranges::any_of(stages, [](const RescoringStage& stage) {
    return std::ranges::any_of(stage.scorer->inputs(), [](const auto& kind) { return kind->needs_index(); });
  });
}

bool has_something_to_read(const Candidate& candidate, const InputKinds& kinds) {
  return !candidate.text.empty() || std::ranges::any_of(kinds, [&](const auto& kind) {
    return kind->role() == InputRole::instead && !candidate.input(kind->name()).value_or("").empty();
  });
}

ScoringStats score_candidates(const RescoringStage& stage, std::string_view query, std::vector<Candidate> candidates,
                              std::span<CandidateScore> scores, const StopSignal& stop) {
  std::deque<std::string> bytes;
  bring_inputs(stage, candidates, bytes, stop);
  return stage.scorer->timed_score(query, candidates, scores, stop);
}

void bring_inputs(const RescoringStage& stage, std::span<Candidate> candidates, std::deque<std::string>& bytes,
                  const StopSignal& stop) {
  if (stage.sources.empty()) return;
  const InputKinds kinds = stage.scorer->inputs();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!stage.sources[i]) continue;
    for (Candidate& candidate : candidates) {
      if (candidate.text.empty() || candidate.input(kinds[i]->name())) continue;
      stop.throw_if_due("making the inputs of texts");
      auto input = stage.sources[i]->read({-1, candidate.id, candidate.text}, stop);
      if (!input) continue;
      candidate.inputs.push_back({kinds[i]->name(), bytes.emplace_back(*std::move(input))});
    }
  }
}

}  // namespace relucent
