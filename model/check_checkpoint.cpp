#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/input/joined_passages.h"
#include "model/input/late_input.h"
#include "model/input/mix_input.h"
#include "model/input/text_head.h"
#include "model/input/tokenized_batch.h"
#include "model/mir/passage_batch.h"
#include "relucent/error.h"
#include "relucent/kernels/max_sim.h"

namespace relucent {
namespace {

constexpr const char* kDamaged = "the weights are damaged; download the file again";

void check_weights(const CheckpointParts& parts, FaultList& faults) {
  for (const std::string& name : parts.used) {
    const SafetensorsEntry& entry = *parts.file->find(name);
    const std::vector<float> values = parts.file->view(entry).to_f32();
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (bad == values.end()) continue;
    faults.add(Error(ErrorKind::invalid_data, fmt::format("{}, tensor {}", parts.file->path_of(entry).string(), name),
                     fmt::format("element {} is not a finite number", bad - values.begin()), kDamaged));
  }
}

/// `size` ids spread over the whole vocabulary.
std::vector<std::int32_t> trial_ids(std::size_t size, const Checkpoint& checkpoint) {
  std::vector<std::int32_t> ids;
  const auto vocabulary = static_cast<std::size_t>(checkpoint.tokenizer->vocabulary_size());
  for (std::size_t i = 0; i < size; ++i) ids.push_back(static_cast<std::int32_t>(i * 7919 % vocabulary));
  return ids;
}

/// Throws Error unless two computations gave the same finite numbers.
void require_equal(const Checkpoint& checkpoint, std::span<const float> once, std::span<const float> again) {
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (!std::isfinite(once[i])) {
      throw Error(ErrorKind::invalid_data, checkpoint.file.path().string(), "the model's score is not a finite number",
                  kDamaged);
    }
    if (std::bit_cast<std::uint32_t>(again[i]) != std::bit_cast<std::uint32_t>(once[i])) {
      throw Error(ErrorKind::internal, checkpoint.folder.string(), "the same input gave two different scores",
                  "please report it");
    }
  }
}

/// Scores a batch twice.
void try_batch(const Checkpoint& checkpoint, const Backend& backend, const ScoringBatch& batch,
               CheckpointCheck& check) {
  const std::size_t each = checkpoint.configuration.description.head.logits();
  check.logits.resize((batch.documents.empty() ? batch.candidates.size() : batch.documents.size()) * each);
  backend.score(batch, check.logits);
  std::vector<float> again(check.logits.size());
  backend.score(batch, again);
  require_equal(checkpoint, check.logits, again);
}

/// A short candidate, the longest one and an empty one against the longest query.
void try_mix_inputs(const Checkpoint& checkpoint, const Backend& backend, CheckpointCheck& check) {
  const MixInput input(checkpoint.configuration, *checkpoint.tokenizer);
  const std::vector<std::int32_t> query = input.query(trial_ids(input.query_words(), checkpoint));
  std::vector<std::vector<std::int32_t>> texts;
  for (const std::size_t words :
       {std::min<std::size_t>(20, input.candidate_words()), input.candidate_words(), std::size_t{0}}) {
    texts.push_back(input.candidate(trial_ids(words, checkpoint)));
  }
  std::vector<Segment> segments;
  for (const auto& text : texts) segments.push_back(input.segment(kDocument, text));
  std::vector<std::span<const Segment>> candidates;
  for (const Segment& segment : segments) candidates.emplace_back(&segment, 1);
  const Segment shared[] = {input.segment(kQuery, query)};
  try_batch(checkpoint, backend, {shared, candidates}, check);
}

/// Encodes a query, a short document, the longest one and an empty one, and compares them.
void try_late_inputs(const Checkpoint& checkpoint, const Backend& backend, CheckpointCheck& check) {
  const LateInput input(checkpoint.configuration, *checkpoint.tokenizer, checkpoint.folder);
  const EncoderDescription& description = checkpoint.configuration.description;
  std::optional<TextHead> head;
  if (description.head.per_text) head.emplace(checkpoint.configuration);
  const auto encode = [&](const LateInput::Text& text) {
    const Segment segment = input.segment(text);
    const std::size_t count = head ? 1 : text.ids.size();
    std::vector<float> vectors(count * static_cast<std::size_t>(description.head_size())), again(vectors.size());
    backend.encode({&segment, 1}, vectors);
    backend.encode({&segment, 1}, again);
    require_equal(checkpoint, vectors, again);
    return head ? (*head)(vectors) : vectors;
  };
  const auto size = static_cast<std::size_t>(head ? head->size() : description.head_size());
  const std::vector<float> query = encode(input.query("what is late interaction", {}));
  std::string longest;
  for (std::int32_t i = 0; i < checkpoint.max_length; ++i) longest += "word ";
  for (const std::string& text : {std::string("a short document"), longest, std::string()}) {
    const std::vector<float> document = encode(input.document(text, {}));
    const StoredVectors stored{EmbeddingNumbers::fp32,
                               {reinterpret_cast<const char*>(document.data()), document.size() * sizeof(float)}};
    max_sim({query, size, checkpoint.configuration.late->over}, {&stored, 1}, {&check.logits.emplace_back(), 1});
  }
}

/// For a model of passages: a short document, and one of two passages of which each piece starts a sentence.
void try_documents(const Checkpoint& checkpoint, const Backend& backend, CheckpointCheck& check) {
  const PassageForm& form = *checkpoint.configuration.passages;
  PassageBatch batch(form, trial_ids(static_cast<std::size_t>(std::min(form.max_query_tokens, 6)), checkpoint));
  for (const std::int32_t size : {20, form.graphs.window + 1}) {
    DocumentGraph graph;
    graph.pieces = std::min(size, form.graphs.max_document_tokens);
    graph.sentence_starts.assign(static_cast<std::size_t>(graph.pieces), size > 20);
    graph.sentence_starts.front() = true;
    graph.mentions = {{0, 1, 0}};
    if (graph.pieces > form.graphs.window) graph.passage_links = {{0, 1}};
    batch.add(trial_ids(graph.sentence_starts.size(), checkpoint), graph);
  }
  try_batch(checkpoint, backend, batch.batch(), check);
}

/// For a model that scores a document's passages together: a short document, one of all passages, and an empty one.
void try_passages(const Checkpoint& checkpoint, const Backend& backend, CheckpointCheck& check) {
  const InputTemplate input(checkpoint.configuration.input, *checkpoint.tokenizer);
  const PassageSplit& split = *input.form.split;
  TokenizedBatch tokenized(
      input, trial_ids(std::min<std::size_t>(6, static_cast<std::size_t>(input.form.query_limit)), checkpoint));
  const std::int32_t longest = split.window + (split.most - 1) * split.stride;
  std::size_t number = 0;
  for (const std::int32_t size : {std::min(20, longest), longest, 0}) {
    const std::vector<std::int32_t> ids = trial_ids(static_cast<std::size_t>(size), checkpoint);
    for (const Chunk& passage : split_document(ids.size(), split)) {
      tokenized.add(std::span(ids).subspan(passage.begin, passage.size), number, passage.begin);
    }
    ++number;
  }
  const std::vector<Segment> shared = tokenized.shared_segments();
  const std::vector<std::vector<Segment>> passages = tokenized.candidates();
  const std::vector<std::span<const Segment>> candidates(passages.begin(), passages.end());
  const JoinedPassages joined(checkpoint.configuration.description, tokenized.passages());
  try_batch(checkpoint, backend, {shared, candidates, joined.documents()}, check);
}

/// Scores a short pair, the longest input, and an empty document.
void try_inputs(const Checkpoint& checkpoint, const BackendOptions& options, CheckpointCheck& check) {
  const auto backend = create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options);
  check.backend = backend->info();
  if (checkpoint.configuration.mix) return try_mix_inputs(checkpoint, *backend, check);
  if (checkpoint.configuration.late) return try_late_inputs(checkpoint, *backend, check);
  if (checkpoint.configuration.passages) return try_documents(checkpoint, *backend, check);
  if (checkpoint.configuration.input.split) return try_passages(checkpoint, *backend, check);
  const InputTemplate input(checkpoint.configuration.input, *checkpoint.tokenizer);
  // Without a table of positions all positions have the same weights.
  constexpr std::int32_t kLongEnough = 2048;
  const bool table = checkpoint.configuration.description.max_positions > 0;
  const std::int32_t longest = checkpoint.configuration.max_tokens;
  const auto pieces =
      static_cast<std::size_t>(table ? longest : std::min(longest, kLongEnough)) - input.special_tokens();
  const std::size_t query_pieces = std::min<std::size_t>(6, pieces), room = pieces - query_pieces;
  TokenizedBatch tokenized(input, trial_ids(query_pieces, checkpoint));
  std::size_t number = 0;
  for (const std::size_t size : {std::min<std::size_t>(20, room), room, std::size_t{0}}) {
    tokenized.add(trial_ids(size, checkpoint), number++);
  }
  const std::vector<Segment> shared = tokenized.shared_segments();
  const std::vector<std::vector<Segment>> documents = tokenized.candidates();
  const std::vector<std::span<const Segment>> candidates(documents.begin(), documents.end());
  try_batch(checkpoint, *backend, {shared, candidates}, check);
}

}  // namespace

CheckpointCheck check_checkpoint(const std::filesystem::path& folder, const BackendOptions& options) {
  FaultList faults(FaultList::Mode::keep_all);
  CheckpointParts parts = read_parts(folder, faults);
  CheckpointCheck check;
  check.info = describe_checkpoint(parts);
  check_weights(parts, faults);
  if (faults.all().empty()) {
    const Checkpoint checkpoint = assemble(std::move(parts));
    faults.attempt([&] { try_inputs(checkpoint, options, check); });
  }
  check.problems = faults.all();
  return check;
}

}  // namespace relucent
