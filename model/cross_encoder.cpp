#include "relucent/model/cross_encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/checksum.h"
#include "base/thread_pool.h"
#include "model/checkpoint/checkpoint_reader.h"
#include "model/checkpoint/weights_checksum.h"
#include "model/cross_encoder_options.h"
#include "model/families/pair_lengths.h"
#include "model/families/pattern.h"
#include "model/input/chunk_choice.h"
#include "model/input/document_chunks.h"
#include "model/input/joined_passages.h"
#include "model/input/tokenized_batch.h"
#include "model/tokenizer/piece_places.h"
#include "model/tokenizer/sentences.h"
#include "relucent/error.h"
#include "relucent/kernels/plan.h"

namespace relucent {
namespace {

constexpr std::size_t kTokensPerCall = 1 << 17;  // keeps a backend's memory bounded when documents have many chunks

constexpr std::size_t kStatesPerCall = 1 << 25;  // numbers; 128 MiB

constexpr std::size_t kChunksBetweenLooks = 256;  // well below a millisecond

// Documents whose ids are in memory together, and those that one thread tokenizes before it looks for more.
constexpr std::size_t kDocumentsAtOnce = 256, kDocumentsPerTask = 8;

std::vector<PairDocument> documents_of(std::span<const std::string_view> texts) {
  std::vector<PairDocument> documents;
  documents.reserve(texts.size());
  for (const std::string_view text : texts) documents.push_back({text});
  return documents;
}

/// A CPU's backend has a pool of as many threads. A GPU would wait for one thread longer than it computes.
int tokenizing_threads(const BackendInfo& backend, const BackendOptions& options) {
  constexpr int most_beside_gpu = 16;
  if (!backend.device.starts_with("cuda")) return backend.threads;
  return options.threads > 0 ? options.threads : std::min(available_cores(), most_beside_gpu);
}

class LoadedCrossEncoder final : public CrossEncoder {
 public:
  LoadedCrossEncoder(Checkpoint checkpoint, const CrossEncoderOptions& options, std::string warning)
      : options_(options),
        warning_(std::move(warning)),
        folder_(std::move(checkpoint.folder)),
        description_(std::move(checkpoint.configuration.description)),
        tokenizer_(std::move(checkpoint.tokenizer)),
        input_(checkpoint.configuration.input, *tokenizer_, options.instruction),
        max_length_(options.max_length != 0                ? options.max_length
                    : checkpoint.configuration.input.split ? checkpoint.configuration.max_tokens
                                                           : checkpoint.max_length),
        max_query_length_(options.max_query_length != 0 ? options.max_query_length : input_.form.query_limit),
        prompt_(std::move(checkpoint.prompt)),
        labels_(std::move(checkpoint.configuration.labels)) {
    if (!labels_.empty() && options.long_documents != LongDocuments::truncate) {
      bad_option("long_documents does not apply to a classifier: its labels have no greatest chunk", "remove it");
    }
    if (input_.special_tokens() >= static_cast<std::size_t>(max_length_)) {
      bad_option(
          fmt::format("the prompt has {} tokens, and the input at most {}", input_.special_tokens(), max_length_),
          "give a shorter instruction or a greater max_length");
    }
    if (input_.form.apart) {
      const std::int32_t left = static_cast<std::int32_t>(places()) - max_query_length_;
      if (left < 1) {
        bad_option(fmt::format("queries of {} word pieces leave no place for documents in an input of {} tokens",
                               max_query_length_, max_length_),
                   "give a greater max_length or a smaller max_query_length");
      }
      input_.form.document_limit = left;
    }
    if (options.attention_window && options.pattern == PatternChoice::checkpoint) {
      const std::int32_t window = *options.attention_window;
      set_window(description_, window < 0 ? View{View::Kind::all} : View{View::Kind::window, window});
    }
    if (options.pattern == PatternChoice::qds) {
      // Without a token of its own, what separates query and document also stands before sentences.
      const PairTemplate& pair = tokenizer_->pair_template();
      input_.sentence_start = pair.sentence ? *pair.sentence : pair.after.front();
    }
    backend_ = create_backend(description_, checkpoint.weights.weights, options.backend);
    const bool on_gpu = backend_->info().device.starts_with("cuda");
    if (input_.form.apart && options.long_documents == LongDocuments::truncate && labels_.empty() && !on_gpu) {
      state_size_ = description_.hidden_size;
      fingerprint_states(checkpoint.weights.weights);
    }
    const int threads = tokenizing_threads(backend_->info(), options.backend);
    if (threads > 1) pool_ = shared_pool(threads);
  }

  PairScores score_documents(std::string_view query, std::span<const PairDocument> documents,
                             const StopSignal& stop) const override;
  std::vector<std::string> labels() const override { return labels_; }
  std::vector<float> classify(std::string_view query, std::span<const std::string_view> texts,
                              const StopSignal& stop) const override;

  std::int32_t state_size() const noexcept override { return state_size_; }
  std::uint64_t states_fingerprint() const override { return states_fingerprint_; }
  std::vector<std::vector<float>> encode(std::span<const std::string_view> texts,
                                         const StopSignal& stop) const override;

  TextRange place_of(std::string_view text, const PieceRange& pieces, const StopSignal& stop) const override {
    const bool starts = input_.sentence_start.has_value();
    if (const std::string& start = input_.form.document_start; !start.empty()) {
      const TextRange place = place_of_pieces(*tokenizer_, start + std::string(text), pieces, stop);
      const auto in_text = [&](std::size_t at) { return at - std::min(at, start.size()); };
      return {in_text(place.begin), in_text(place.end)};
    }
    return by_sentences() || starts ? place_of_sentence_pieces(*tokenizer_, text, pieces, starts, stop)
                                    : place_of_pieces(*tokenizer_, text, pieces, stop);
  }

  const Tokenizer& tokenizer() const noexcept override { return *tokenizer_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }
  const EncoderDescription& description() const noexcept override { return description_; }
  std::string warning() const override { return warning_; }
  const std::filesystem::path& checkpoint() const noexcept override { return folder_; }
  std::int32_t max_length() const noexcept override { return max_length_; }
  std::int32_t max_query_length() const noexcept override { return max_query_length_; }
  std::int32_t most_candidates() const noexcept override { return input_.form.most_candidates; }

 private:
  bool by_sentences() const {
    return options_.chunk_by == ChunkBy::sentences && options_.long_documents != LongDocuments::truncate;
  }
  std::span<const std::int32_t> document_ids(const PairDocument& document, std::size_t limit,
                                             std::vector<std::int32_t>& room, const StopSignal& stop) const;
  /// The most pieces of a query that are read with any document.
  std::size_t query_limit() const {
    return max_query_length_ > 0 ? static_cast<std::size_t>(max_query_length_)
                                 : std::numeric_limits<std::size_t>::max();
  }
  /// The places of an input that special tokens do not take.
  std::size_t places() const { return static_cast<std::size_t>(max_length_) - input_.special_tokens(); }
  std::size_t pieces_to_read(std::size_t query) const;
  /// Room for the ids of a document.
  struct Pieces {
    std::vector<std::int32_t> ids, sentences;
  };
  /// A document's ids, its chunks, and how many pieces of the query are read with them.
  struct Reading {
    std::span<const std::int32_t> ids;
    std::vector<Chunk> chunks;
    std::size_t query = 0;
  };
  /// `query`: its number of pieces. The result's ids are the document's own or in `of`.
  Reading read_document(std::size_t query, const PairDocument& document, Pieces& of, const StopSignal& stop) const;
  /// The same of some documents, on the threads of the pool. `of`: at least as many.
  std::vector<Reading> read_documents(std::size_t query, std::span<const PairDocument> documents, std::span<Pieces> of,
                                      const StopSignal& stop) const;
  /// The pieces of a query, as many as are read with any document; returns whether it has more.
  bool encode_query(std::string_view query, std::vector<std::int32_t>& pieces, const StopSignal& stop) const;
  /// By how many pieces of the query are read: a long document may leave a long query fewer places than a short one.
  using Batches = std::map<std::size_t, TokenizedBatch>;
  Batches tokenize(std::string_view query, std::span<const PairDocument> documents, const StopSignal& stop,
                   PairScores& scores) const;
  /// The logits of the batch's candidates, or of its documents if the model scores passages together; as many of each
  /// as the head gives.
  std::vector<float> encode(const TokenizedBatch& batch, const StopSignal& stop, PairScores& scores) const;
  void require_finite(std::span<const float> logits) const;
  void fingerprint_states(const EncoderWeights& weights);
  /// The tokens of a document that is given by its states. Throws Error if they are not of this model.
  std::size_t stored_tokens(const StoredVectors& states, std::size_t document) const;
  /// Candidates that see each other: in the order of their ids, so that no bit depends on the order given.
  std::vector<float> encode_set(std::span<const Segment> shared, std::span<const std::span<const Segment>> candidates,
                                const StopSignal& stop, PairScores& scores) const;

  CrossEncoderOptions options_;
  std::string warning_;
  std::filesystem::path folder_;
  EncoderDescription description_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  InputTemplate input_;
  std::int32_t max_length_, max_query_length_;
  std::string prompt_;
  std::vector<std::string> labels_;
  std::int32_t state_size_ = 0;
  std::uint64_t states_fingerprint_ = 0;
  std::unique_ptr<const Backend> backend_;
  std::shared_ptr<ThreadPool> pool_;  // that tokenizes; null: the caller does
};

/// The document's first `limit` ids: the given ones if they suffice, otherwise those of its text, in `room`.
std::span<const std::int32_t> LoadedCrossEncoder::document_ids(const PairDocument& document, std::size_t limit,
                                                               std::vector<std::int32_t>& room,
                                                               const StopSignal& stop) const {
  room.clear();
  if (!input_.form.document_start.empty()) {
    tokenizer_->encode(input_.form.document_start + std::string(document.text), limit, room, stop);
    return room;
  }
  const auto ids = document.ids.first(std::min(limit, document.ids.size()));
  const bool enough =
      document.which == PairDocument::Ids::all || (document.which == PairDocument::Ids::first && ids.size() == limit);
  const auto is_entry = [size = tokenizer_->vocabulary_size()](std::int32_t id) { return id >= 0 && id < size; };
  if (enough && std::all_of(ids.begin(), ids.end(), is_entry)) return ids;
  tokenizer_->encode(document.text, limit, room, stop);
  return room;
}

std::size_t LoadedCrossEncoder::pieces_to_read(std::size_t query) const {
  // If the document is split, with at most half of the places for the query, all of its pieces may matter.
  const std::size_t room = places() - std::min(query, places() / 2);
  return std::max(deciding_pieces(query, places()), pieces_wanted(room, options_));
}

LoadedCrossEncoder::Reading LoadedCrossEncoder::read_document(std::size_t query, const PairDocument& document,
                                                              Pieces& of, const StopSignal& stop) const {
  if (const std::optional<PassageSplit>& split = input_.form.split) {
    Reading passages;
    passages.ids = document_ids(document, std::numeric_limits<std::size_t>::max() / 2, of.ids, stop);
    passages.chunks = split_document(passages.ids.size(), *split);
    passages.query = query;
    return passages;
  }
  const auto cut = [&](std::size_t pieces) {
    const bool whole_or_cut = options_.long_documents == LongDocuments::truncate;
    if (const auto limit = static_cast<std::size_t>(input_.form.document_limit); limit > 0) {
      pieces = std::min(pieces, limit);
    }
    return (whole_or_cut ? cut_pair : cut_pair_for_chunks)({query, pieces}, places(), input_.form.cut);
  };
  Reading read;
  if (!input_.sentence_start) {
    const std::size_t wanted = by_sentences() ? deciding_pieces(query, places()) : pieces_to_read(query);
    read.ids = document_ids(document, wanted, of.ids, stop);
  }
  PairLengths lengths = cut(read.ids.size());
  if (input_.sentence_start || (by_sentences() && lengths.document > 0 && read.ids.size() > lengths.document)) {
    of.sentences.clear();
    const auto ends =
        encode_sentences(*tokenizer_, document.text, pieces_to_read(query), input_.sentence_start, of.sentences, stop);
    if (input_.sentence_start || !of.sentences.empty()) {
      read.ids = of.sentences;
      lengths = cut(read.ids.size());
      if (by_sentences() && lengths.document > 0 && read.ids.size() > lengths.document)
        read.chunks = sentence_chunks(ends, lengths.document, options_);
    }
  }
  if (read.chunks.empty()) read.chunks = document_chunks(read.ids.size(), lengths.document, options_);
  read.query = lengths.query;
  return read;
}

bool LoadedCrossEncoder::encode_query(std::string_view query, std::vector<std::int32_t>& pieces,
                                      const StopSignal& stop) const {
  const InputForm& form = input_.form;
  const std::size_t limit = query_limit();
  if (form.query_start.empty() && form.query_end.empty()) return tokenizer_->encode(query, limit, pieces, stop);
  const std::string started = form.query_start + std::string(query);
  const bool over = tokenizer_->encode(started, limit, pieces, stop);
  if (!over) pieces.clear();
  tokenizer_->encode(over ? form.query_end : started + form.query_end, std::numeric_limits<std::size_t>::max(), pieces,
                     stop);
  return over;
}

std::vector<LoadedCrossEncoder::Reading> LoadedCrossEncoder::read_documents(std::size_t query,
                                                                            std::span<const PairDocument> documents,
                                                                            std::span<Pieces> of,
                                                                            const StopSignal& stop) const {
  std::vector<Reading> readings(documents.size());
  const auto read_some = [&](std::size_t task, int) {
    const std::size_t first = task * kDocumentsPerTask;
    for (std::size_t i = first; i < std::min(first + kDocumentsPerTask, documents.size()); ++i) {
      stop.throw_if_due("tokenizing the documents");
      if (!documents[i].states.bytes.empty()) continue;
      readings[i] = read_document(query, documents[i], of[i], stop);
    }
  };
  const std::size_t tasks = (documents.size() + kDocumentsPerTask - 1) / kDocumentsPerTask;
  if (tasks > 1 && pool_ != nullptr) {
    pool_->run(tasks, read_some);
  } else {
    for (std::size_t task = 0; task < tasks; ++task) read_some(task, 0);
  }
  return readings;
}

LoadedCrossEncoder::Batches LoadedCrossEncoder::tokenize(std::string_view query,
                                                         std::span<const PairDocument> documents,
                                                         const StopSignal& stop, PairScores& scores) const {
  std::vector<std::int32_t> query_pieces;
  const bool over_limit = encode_query(query, query_pieces, stop);
  const std::span<const std::int32_t> all = query_pieces;
  scores.query_truncated = over_limit || all.size() > places();
  scores.query_tokens = static_cast<std::int32_t>(documents.empty() ? std::min(all.size(), places()) : 0);
  std::optional<ChunkChoice> choice;
  if (options_.max_chunks > 0 && options_.keep_chunks == KeepChunks::query && !input_.form.split) {
    // As many pieces as are read with a chunk.
    choice.emplace(all.first(std::min(all.size(), places() / 2)), tokenizer_->vocabulary_size(),
                   static_cast<std::size_t>(options_.max_chunks));
  }
  Batches batches;
  std::vector<Pieces> pieces(std::min(documents.size(), kDocumentsAtOnce));
  std::vector<Reading> readings;
  std::size_t chunks_added = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i % kDocumentsAtOnce == 0) {
      const auto some = documents.subspan(i, std::min(documents.size() - i, kDocumentsAtOnce));
      readings = read_documents(all.size(), some, pieces, stop);
    }
    auto& [ids, chunks, read] = readings[i % kDocumentsAtOnce];
    PairScore& score = scores.documents[i];
    if (const StoredVectors& states = documents[i].states; !states.bytes.empty()) {
      const std::size_t tokens = stored_tokens(states, i);
      batches.try_emplace(all.size(), input_, all).first->second.add_stored(states, tokens, i);
      const std::size_t before = input_.before_text() + input_.before_query.size() + input_.after_query.size();
      score.tokens = static_cast<std::int32_t>(before + all.size() + tokens);
      score.query_truncated = over_limit;
      scores.query_tokens = static_cast<std::int32_t>(all.size());
      continue;
    }
    const std::size_t count = chunks.size();
    if (input_.form.split) chunks = spread_passages(std::move(chunks), *input_.form.split);
    if (choice) chunks = choice->choose(std::move(chunks), ids, stop);
    if (options_.keep_chunks == KeepChunks::first && options_.max_chunks > 0 && !input_.form.split) {
      chunks.resize(std::min(chunks.size(), static_cast<std::size_t>(options_.max_chunks)));
    }
    score.truncated = chunks.size() < count || chunks.back().begin + chunks.back().size < ids.size();
    score.query_truncated = over_limit || read < all.size();
    scores.query_truncated = scores.query_truncated || score.query_truncated;
    scores.query_tokens = std::max(scores.query_tokens, static_cast<std::int32_t>(read));
    TokenizedBatch& batch = batches.try_emplace(read, input_, all.first(read)).first->second;
    for (const Chunk& chunk : chunks) {
      if (++chunks_added % kChunksBetweenLooks == 0) stop.throw_if_due("tokenizing the documents");
      batch.add(ids.subspan(chunk.begin, chunk.size), i, chunk.begin);
      score.tokens += static_cast<std::int32_t>(input_.special_tokens() + read + chunk.size);
    }
  }
  return batches;
}

std::vector<float> LoadedCrossEncoder::encode(const TokenizedBatch& batch, const StopSignal& stop,
                                              PairScores& scores) const {
  const std::vector<Segment> shared = batch.shared_segments();
  std::vector<std::vector<Segment>> segments = batch.candidates();
  const std::vector<std::span<const Segment>> candidates(segments.begin(), segments.end());
  const auto tokens_of = [](std::span<const Segment> candidate) {
    std::size_t tokens = 0;
    for (const Segment& segment : candidate) tokens += segment.tokens();
    return tokens;
  };
  if (input_.form.most_candidates > 0) return encode_set(shared, candidates, stop, scores);
  // What is scored: each candidate, or each document of so many passages.
  const std::vector<std::size_t> sizes =
      input_.form.split ? batch.passages() : std::vector<std::size_t>(candidates.size(), 1);
  const std::size_t each = description_.head.logits(), hidden = static_cast<std::size_t>(description_.hidden_size);
  std::vector<float> logits(sizes.size() * each);
  std::vector<float> states;
  for (std::size_t begin = 0, first = 0; begin < sizes.size();) {
    std::size_t end = begin, last = first, tokens = 0, numbers = 0;
    while (end < sizes.size()) {
      std::size_t more = 0, more_numbers = 0;
      for (std::size_t i = last; i < last + sizes[end]; ++i) {
        more += tokens_of(candidates[i]);
        if (!batch.stored(i).bytes.empty()) more_numbers += tokens_of(candidates[i]) * hidden;
      }
      if (end > begin && (tokens + more > kTokensPerCall || numbers + more_numbers > kStatesPerCall)) break;
      tokens += more;
      numbers += more_numbers;
      last += sizes[end++];
    }
    states.resize(numbers);
    std::span<float> room = states;
    for (std::size_t i = first; i < last && !room.empty(); ++i) {
      const StoredVectors& stored = batch.stored(i);
      if (stored.bytes.empty()) continue;
      const std::span<float> own = room.first(tokens_of(candidates[i]) * hidden);
      load_vectors(stored.numbers, hidden, stored.bytes, own);
      segments[i].front().states = own;
      room = room.subspan(own.size());
    }
    ScoringBatch part{shared, std::span(candidates).subspan(first, last - first)};
    std::optional<JoinedPassages> joined;
    if (input_.form.split) {
      joined.emplace(description_, std::span(sizes).subspan(begin, end - begin));
      part.documents = joined->documents();
    }
    const DeviceCost cost =
        backend_->score_with_cost(part, std::span(logits).subspan(begin * each, (end - begin) * each), stop);
    scores.times.device += cost.time;
    scores.device_bytes = std::max(scores.device_bytes, cost.bytes);
    begin = end;
    first = last;
  }
  return logits;
}

std::vector<float> LoadedCrossEncoder::encode_set(std::span<const Segment> shared,
                                                  std::span<const std::span<const Segment>> candidates,
                                                  const StopSignal& stop, PairScores& scores) const {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto ids = [&](std::size_t i) { return candidates[i].front().ids; };
  std::ranges::sort(order,
                    [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(ids(a), ids(b)); });
  std::vector<std::span<const Segment>> in_order;
  for (const std::size_t i : order) in_order.push_back(candidates[i]);
  std::vector<float> found(candidates.size()), logits(candidates.size());
  const DeviceCost cost = backend_->score_with_cost({shared, in_order}, found, stop);
  scores.times.device += cost.time;
  scores.device_bytes = std::max(scores.device_bytes, cost.bytes);
  for (std::size_t i = 0; i < order.size(); ++i) logits[order[i]] = found[i];
  return logits;
}

PairScores LoadedCrossEncoder::score_documents(std::string_view query, std::span<const PairDocument> documents,
                                               const StopSignal& stop) const {
  refuse_labels(folder_, labels_);
  PairScores scores;
  scores.documents.resize(documents.size());
  if (const auto most = static_cast<std::size_t>(input_.form.most_candidates); most > 0 && documents.size() > most) {
    throw Error(ErrorKind::usage, folder_.string(),
                fmt::format("scores at most {} candidates together, but there are {}", most, documents.size()),
                fmt::format("set window = {} in [rescorer], or give fewer", most));
  }
  auto start = std::chrono::steady_clock::now();
  const std::string prompted = prompt_ + std::string(query);
  const Batches batches = tokenize(prompted, documents, stop, scores);
  scores.times.tokenize = time_since(start);
  if (documents.empty()) return scores;

  start = std::chrono::steady_clock::now();
  for (const auto& [pieces, batch] : batches) {
    const std::vector<float> logits = encode(batch, stop, scores);
    require_finite(logits);
    if (input_.form.split) {
      batch.assign(logits, scores.documents);
    } else {
      batch.combine(logits, options_, scores.documents);
    }
  }
  scores.times.encode = time_since(start);
  return scores;
}

std::vector<float> LoadedCrossEncoder::classify(std::string_view query, std::span<const std::string_view> texts,
                                                const StopSignal& stop) const {
  require_labels(folder_, labels_);
  const std::vector<PairDocument> documents = documents_of(texts);
  PairScores scores;
  scores.documents.resize(documents.size());
  std::vector<float> all(documents.size() * labels_.size());
  for (const auto& [pieces, batch] : tokenize(query, documents, stop, scores)) {
    const std::vector<float> logits = encode(batch, stop, scores);
    require_finite(logits);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(i * labels_.size()), labels_.size(),
                  all.begin() + static_cast<std::ptrdiff_t>(batch.document_of(i) * labels_.size()));
    }
  }
  return all;
}

void LoadedCrossEncoder::fingerprint_states(const EncoderWeights& weights) {
  const Layer& layer = description_.stacks.front().layers.front();
  const std::size_t layers = make_plan(description_).layers_apart();
  Checksum sum;
  sum.add(fmt::format("{} {} {} {} {} {} {} {} {}", tokenizer_->fingerprint(), input_.form.document_limit,
                      input_.form.document_type, input_.form.first_position, description_.hidden_size,
                      layer.attentions.front().heads, layers, static_cast<int>(layer.feed_forward.activation),
                      description_.norm_epsilon));
  add_embeddings(sum, weights);
  for (const LayerWeights& of : std::span(weights.stacks.front().layers).first(layers)) add_layer(sum, of);
  states_fingerprint_ = sum.value();
}

std::size_t LoadedCrossEncoder::stored_tokens(const StoredVectors& states, std::size_t document) const {
  if (state_size_ == 0) CrossEncoder::encode({}, {});  // throws
  const std::size_t each = stored_size(states.numbers, static_cast<std::size_t>(state_size_));
  const std::size_t tokens = states.bytes.size() / each;
  const std::size_t most = static_cast<std::size_t>(input_.form.document_limit) + input_.before_document.size() +
                           input_.after_document.size();
  if (tokens * each == states.bytes.size() && tokens <= most) return tokens;
  throw Error(ErrorKind::usage, fmt::format("document {}", document),
              fmt::format("has states of {} bytes, but {} has at most {} tokens of {} numbers", states.bytes.size(),
                          folder_.string(), most, state_size_),
              "encode the documents with the same checkpoint");
}

std::vector<std::vector<float>> LoadedCrossEncoder::encode(std::span<const std::string_view> texts,
                                                           const StopSignal& stop) const {
  if (state_size_ == 0) return CrossEncoder::encode(texts, stop);
  const auto size = static_cast<std::size_t>(state_size_);
  std::vector<std::vector<float>> all;
  std::vector<std::int32_t> room;
  for (std::size_t next = 0; next < texts.size();) {
    TokenizedBatch batch(input_, {});
    std::size_t tokens = 0;
    for (; next < texts.size() && tokens * size < kStatesPerCall; ++next) {
      const auto ids = document_ids({texts[next]}, static_cast<std::size_t>(input_.form.document_limit), room, stop);
      batch.add(ids, next);
      tokens += input_.before_document.size() + ids.size() + input_.after_document.size();
    }
    std::vector<Segment> segments;
    for (const std::vector<Segment>& of : batch.candidates()) segments.push_back(of.front());
    std::vector<float> states(tokens * size);
    backend_->encode(segments, states, stop);
    auto state = states.begin();
    for (const Segment& segment : segments) {
      const auto end = state + static_cast<std::ptrdiff_t>(segment.tokens() * size);
      all.emplace_back(state, end);
      state = end;
    }
  }
  return all;
}

void LoadedCrossEncoder::require_finite(std::span<const float> logits) const {
  if (std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) return;
  throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
              "run `relucent model check`: the weights are damaged or exceed this precision's range");
}

}  // namespace

void CrossEncoder::require_scores() const { refuse_labels(checkpoint(), labels()); }

std::vector<std::vector<float>> CrossEncoder::encode(std::span<const std::string_view>, const StopSignal&) const {
  throw Error(ErrorKind::unsupported, checkpoint().string(),
              "does not encode documents ahead of queries, or not with these settings on this device",
              "give a Deformer on a CPU, with long_documents = \"truncate\"");
}

PairScores CrossEncoder::score(std::string_view query, std::span<const std::string_view> texts,
                               const StopSignal& stop) const {
  return score_documents(query, documents_of(texts), stop);
}

std::shared_ptr<const CrossEncoder> CrossEncoder::load(const std::filesystem::path& checkpoint,
                                                       const CrossEncoderOptions& options) {
  Checkpoint read = read_checkpoint(checkpoint);
  if (read.configuration.mix) {
    throw Error(ErrorKind::unsupported, checkpoint.string(), "is a MixEncoder, not a cross-encoder",
                "load it with MixEncoder::load, or name it as [rescorer] model");
  }
  if (read.configuration.late) {
    throw Error(ErrorKind::unsupported, checkpoint.string(),
                "compares vectors (late interaction or embeddings) and is not a cross-encoder",
                "load it with LateInteraction::load, or name it as [rescorer] model");
  }
  if (read.configuration.passages) {
    throw Error(ErrorKind::unsupported, checkpoint.string(),
                "is not a cross-encoder: its passages exchange information along graphs of each document",
                "use a cross-encoder's checkpoint");
  }
  check_options(options, read);
  std::string warning;
  if (options.pattern != PatternChoice::checkpoint) {
    FamilyConfiguration changed = with_pattern(read.config, options.pattern, options.attention_window);
    if (changed.description.stacks != read.configuration.description.stacks) {
      warning = fmt::format(
          "{}: the attention pattern is not the one that config.json names, so unless the model was "
          "trained with it, its scores are worse",
          checkpoint.string());
    }
    // config.json alone does not tell a head of modules, nor one that the tensors tell.
    changed.description.head = read.configuration.description.head;
    read.configuration.description = std::move(changed.description);
  }
  return std::make_shared<LoadedCrossEncoder>(std::move(read), options, std::move(warning));
}

}  // namespace relucent
