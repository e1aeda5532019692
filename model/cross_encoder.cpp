#include "relucent/model/cross_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/input/chunk_choice.h"
#include "model/input/document_chunks.h"
#include "model/input/tokenized_batch.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::int32_t kMaxQueryLength = 30;     // word pieces
constexpr std::size_t kTokensPerCall = 1 << 17;  // keeps a backend's memory bounded when documents have many chunks

constexpr std::size_t kChunksBetweenLooks = 256;  // well below a millisecond

[[noreturn]] void bad_option(const std::string& problem, const std::string& remedy) {
  throw Error(ErrorKind::usage, "cross-encoder options", problem, remedy);
}

void check_options(const CrossEncoderOptions& options, const Checkpoint& checkpoint) {
  const std::int32_t rows = checkpoint.configuration.description.max_positions;
  const auto special_tokens = static_cast<std::int32_t>(checkpoint.tokenizer->pair_template().size());
  if (options.max_length != 0 && (options.max_length <= special_tokens || options.max_length > rows)) {
    bad_option(fmt::format("max_length {} is out of range", options.max_length),
               fmt::format("give 0 or a number from {} to {}, the rows of the position table of {}", special_tokens + 1,
                           rows, checkpoint.folder.string()));
  }
  if (options.attention_window && *options.attention_window < -1) {
    bad_option(fmt::format("attention_window {} is out of range", *options.attention_window),
               "give 0 or more tokens, or -1 for no window");
  }
  if (options.chunk < 1) {
    bad_option(fmt::format("chunk {} is out of range", options.chunk), "give 1 or more word pieces");
  }
  if (options.max_chunks < 0) {
    bad_option(fmt::format("max_chunks {} is out of range", options.max_chunks),
               "give 1 or more chunks, or 0 for all of them");
  }
  if (options.stride < 1 || options.stride > options.chunk) {
    bad_option(fmt::format("stride {} is out of range", options.stride),
               fmt::format("give 1 to {} word pieces, so that chunks leave no gaps", options.chunk));
  }
}

class LoadedCrossEncoder final : public CrossEncoder {
 public:
  LoadedCrossEncoder(Checkpoint checkpoint, const CrossEncoderOptions& options)
      : options_(options),
        folder_(std::move(checkpoint.folder)),
        description_(std::move(checkpoint.configuration.description)),
        tokenizer_(std::move(checkpoint.tokenizer)),
        max_length_(options.max_length != 0 ? options.max_length : checkpoint.max_length) {
    if (options.attention_window) {
      for (AttentionPattern& pattern : description_.patterns) {
        pattern.window = *options.attention_window < 0 ? std::nullopt : options.attention_window;
      }
    }
    backend_ = create_backend(description_, checkpoint.weights.weights, options.backend);
  }

  PairScores score_documents(std::string_view query, std::span<const PairDocument> documents,
                             const StopSignal& stop) const override;

  const Tokenizer& tokenizer() const noexcept override { return *tokenizer_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }
  const EncoderDescription& description() const noexcept override { return description_; }
  const std::filesystem::path& checkpoint() const noexcept override { return folder_; }
  std::int32_t max_length() const noexcept override { return max_length_; }

 private:
  std::span<const std::int32_t> document_ids(const PairDocument& document, std::size_t limit,
                                             std::vector<std::int32_t>& room, const StopSignal& stop) const;
  TokenizedBatch tokenize(std::string_view query, std::span<const PairDocument> documents, const StopSignal& stop,
                          PairScores& scores) const;
  std::vector<float> encode(const TokenizedBatch& batch, const StopSignal& stop, PairScores& scores) const;

  CrossEncoderOptions options_;
  std::filesystem::path folder_;
  EncoderDescription description_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::int32_t max_length_;
  std::unique_ptr<const Backend> backend_;
};

/// The document's first `limit` ids: the given ones if they suffice, otherwise those of its text, in `room`.
std::span<const std::int32_t> LoadedCrossEncoder::document_ids(const PairDocument& document, std::size_t limit,
                                                               std::vector<std::int32_t>& room,
                                                               const StopSignal& stop) const {
  const auto ids = document.ids.first(std::min(limit, document.ids.size()));
  const bool enough =
      document.which == PairDocument::Ids::all || (document.which == PairDocument::Ids::first && ids.size() == limit);
  const auto is_entry = [size = tokenizer_->vocabulary_size()](std::int32_t id) { return id >= 0 && id < size; };
  if (enough && std::all_of(ids.begin(), ids.end(), is_entry)) return ids;
  room.clear();
  tokenizer_->encode(document.text, limit, room, stop);
  return room;
}

TokenizedBatch LoadedCrossEncoder::tokenize(std::string_view query, std::span<const PairDocument> documents,
                                            const StopSignal& stop, PairScores& scores) const {
  const PairTemplate& pair = tokenizer_->pair_template();
  const std::size_t most = static_cast<std::size_t>(max_length_) - pair.size();  // query and document
  const auto query_limit = std::min<std::size_t>(kMaxQueryLength, most);
  TokenizedBatch batch;
  scores.query_truncated = tokenizer_->encode(query, query_limit, batch.query, stop);
  scores.query_tokens = static_cast<std::int32_t>(batch.query.size());
  const std::size_t room = most - batch.query.size();
  std::optional<ChunkChoice> choice;
  if (options_.max_chunks > 0) {
    choice.emplace(batch.query, tokenizer_->vocabulary_size(), static_cast<std::size_t>(options_.max_chunks));
  }
  batch.query.insert(batch.query.end(), pair.between.begin(), pair.between.end());
  std::vector<std::int32_t> pieces;
  std::size_t chunks_added = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    stop.throw_if_due("tokenizing the documents");
    // One more id than wanted shows that the document must be split or cut; the ids after it do not matter.
    const auto ids = document_ids(documents[i], pieces_wanted(room, options_) + 1, pieces, stop);
    auto chunks = document_chunks(ids.size(), room, options_);
    PairScore& score = scores.documents[i];
    const std::size_t all = chunks.size();
    if (choice) chunks = choice->choose(std::move(chunks), ids, stop);
    score.truncated = chunks.size() < all || chunks.back().begin + chunks.back().size < ids.size();
    for (const Chunk& chunk : chunks) {
      if (++chunks_added % kChunksBetweenLooks == 0) stop.throw_if_due("tokenizing the documents");
      batch.add(ids.subspan(chunk.begin, chunk.size), pair.after, i);
      score.tokens +=
          static_cast<std::int32_t>(pair.size() + static_cast<std::size_t>(scores.query_tokens) + chunk.size);
    }
  }
  return batch;
}

std::vector<float> LoadedCrossEncoder::encode(const TokenizedBatch& batch, const StopSignal& stop,
                                              PairScores& scores) const {
  const auto sequences = batch.sequences();
  std::vector<float> logits(sequences.size());
  for (std::size_t begin = 0; begin < sequences.size();) {
    std::size_t end = begin, tokens = 0;
    while (end < sequences.size() && (end == begin || tokens + sequences[end].size() <= kTokensPerCall)) {
      tokens += sequences[end++].size();
    }
    const ScoringBatch part{tokenizer_->pair_template().before.front(), batch.query,
                            std::span(sequences).subspan(begin, end - begin)};
    const DeviceCost cost = backend_->score_with_cost(part, std::span(logits).subspan(begin, end - begin), stop);
    scores.times.device += cost.time;
    scores.device_bytes = std::max(scores.device_bytes, cost.bytes);
    begin = end;
  }
  return logits;
}

PairScores LoadedCrossEncoder::score_documents(std::string_view query, std::span<const PairDocument> documents,
                                               const StopSignal& stop) const {
  PairScores scores;
  scores.documents.resize(documents.size());
  auto start = std::chrono::steady_clock::now();
  const TokenizedBatch batch = tokenize(query, documents, stop, scores);
  scores.times.tokenize = time_since(start);
  if (documents.empty()) return scores;

  start = std::chrono::steady_clock::now();
  const std::vector<float> logits = encode(batch, stop, scores);
  for (const float logit : logits) {
    if (!std::isfinite(logit)) {
      throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
                  "run `relucent model check`: the weights are damaged or exceed this precision's range");
    }
  }
  batch.combine(logits, options_.long_documents, scores.documents);
  scores.times.encode = time_since(start);
  return scores;
}

}  // namespace

PairScores CrossEncoder::score(std::string_view query, std::span<const std::string_view> texts,
                               const StopSignal& stop) const {
  std::vector<PairDocument> documents;
  documents.reserve(texts.size());
  for (const std::string_view text : texts) documents.push_back({text});
  return score_documents(query, documents, stop);
}

std::shared_ptr<const CrossEncoder> CrossEncoder::load(const std::filesystem::path& checkpoint,
                                                       const CrossEncoderOptions& options) {
  Checkpoint read = read_checkpoint(checkpoint);
  check_options(options, read);
  return std::make_shared<LoadedCrossEncoder>(std::move(read), options);
}

}  // namespace relucent
