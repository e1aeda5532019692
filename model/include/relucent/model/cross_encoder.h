#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/embedding_numbers.h"
#include "relucent/export.h"
#include "relucent/kernels/backend.h"
#include "relucent/model/tokenizer.h"
#include "relucent/text_range.h"
#include "relucent/text_reading.h"
#include "relucent/times.h"

namespace relucent {

/// How a checkpoint is loaded and run.
struct CrossEncoderOptions : TextReading {
  BackendOptions backend;
};

/// A document to score. Views live as long as the call.
struct PairDocument {
  std::string_view text;  ///< UTF-8; invalid bytes count as U+FFFD
  /// Optional: ids that CrossEncoder::tokenizer() produced for the text, without special tokens; all of them, or the
  /// first ones. They save tokenizing the text again. If they are too few for this model's limits, the text is used.
  std::span<const std::int32_t> ids = {};
  enum class Ids { none, first, all } which = Ids::none;
  /// Optional: what CrossEncoder::encode() of the same checkpoint returned for the text. Then nothing else is read.
  StoredVectors states = {};
};

/// One document's score.
struct PairScore {
  float logit = 0;
  std::int32_t tokens = 0;       ///< tokens that the model saw, over all chunks, including [CLS] and [SEP]
  bool truncated = false;        ///< the model did not see all of the document; unknown of one that is given by states
  bool query_truncated = false;  ///< the model did not see all of the query
  PieceRange best;               ///< of the document's pieces: the chunk with the greatest logit, or what was read
};

/// The scores of one query's documents.
struct PairScores {
  std::vector<PairScore> documents;  ///< in the order given
  std::int32_t query_tokens = 0;     ///< word pieces used, without special tokens: the most with any document
  bool query_truncated = false;      ///< the model did not see all of the query with some document
  StageTimes times;                  ///< tokenize, encode and device
  std::uint64_t device_bytes = 0;    ///< peak GPU memory of the activations; 0 on a CPU
};

/// A checkpoint with its tokenizer and a backend: text in, logits out. Thread-safe.
class RELUCENT_API CrossEncoder {
 public:
  virtual ~CrossEncoder() = default;

  /// Reads a Hugging Face folder (config.json, model.safetensors or its index and shards, and vocab.txt, tokenizer.json
  /// or a SentencePiece *.model).
  /// Throws Error: `io` or `invalid_data` naming the file and the place in it, `unsupported` for an unknown
  /// architecture or key, and whatever create_backend throws.
  static std::shared_ptr<const CrossEncoder> load(const std::filesystem::path& checkpoint,
                                                  const CrossEncoderOptions& options = {});

  /// Scores `documents` against `query` (UTF-8; invalid bytes count as U+FFFD). If both are too long for the input, the
  /// longer one loses its end first (in T5 the document; docs/checkpoints.md). A document's score depends only
  /// on the query and its own text, unless most_candidates() is set: then also on the other documents, but not on their
  /// order. An empty document gets a score like any other; callers that treat missing
  /// text differently leave it out.
  virtual PairScores score_documents(std::string_view query, std::span<const PairDocument> documents,
                                     const StopSignal& stop = {}) const = 0;
  /// The same for texts alone.
  PairScores score(std::string_view query, std::span<const std::string_view> texts, const StopSignal& stop = {}) const;

  /// The names of a classifier's labels, such as entailment and contradiction, in the order of its outputs; empty: the
  /// model scores. score_documents() refuses a classifier, classify() every other model, with Error `unsupported`.
  virtual std::vector<std::string> labels() const { return {}; }
  /// Throws Error `unsupported` for a classifier.
  void require_scores() const;
  /// The logits of all labels for the query with each text: [texts][labels]. Reads texts as score_documents() does.
  virtual std::vector<float> classify(std::string_view query, std::span<const std::string_view> texts,
                                      const StopSignal& stop = {}) const = 0;

  /// Numbers per token of what encode() returns. 0: it refuses, with Error `unsupported`, and so does score_documents()
  /// with states. Otherwise the first layers see the document alone (DeFormer), and the backend is not of a GPU.
  virtual std::int32_t state_size() const noexcept { return 0; }
  /// A hash of everything that decides what encode() returns: configuration, limits, tokenizer and weights of those
  /// layers, but not the device or its precision.
  virtual std::uint64_t states_fingerprint() const { return 0; }
  /// What becomes of the texts (UTF-8) in the layers that see the document alone: [tokens][state_size()] of each, with
  /// special tokens. It depends on the text alone; its bits do not change with the rest of the batch or the number of
  /// threads. As fp32, it gives the same scores as the text. Throws Error `deadline` or `interrupted` when `stop` is
  /// due.
  virtual std::vector<std::vector<float>> encode(std::span<const std::string_view> texts,
                                                 const StopSignal& stop = {}) const;

  /// Where a document's pieces, as PairScore::best, stand in its text: bytes of whole characters, from the first to the
  /// last word of which a piece is in the range. Tokenizes the text again, up to there, unless `pieces` are all of it.
  /// Throws Error when `stop` is due.
  virtual TextRange place_of(std::string_view text, const PieceRange& pieces, const StopSignal& stop = {}) const = 0;

  virtual const Tokenizer& tokenizer() const noexcept = 0;
  virtual const BackendInfo& backend() const noexcept = 0;
  virtual const EncoderDescription& description() const noexcept = 0;
  /// What a user should know before trusting the scores: that a pattern is not the checkpoint's own. Usually empty.
  virtual std::string warning() const { return {}; }
  virtual const std::filesystem::path& checkpoint() const noexcept = 0;
  virtual std::int32_t max_length() const noexcept = 0;
  /// How many candidates an encoder of sets (Set-Encoder), whose scores depend on all of a query's, scores
  /// together. score_documents() refuses more. 0: a document's score depends on its own text.
  virtual std::int32_t most_candidates() const noexcept { return 0; }
  /// The most word pieces of a query; 0: as many as fit.
  virtual std::int32_t max_query_length() const noexcept { return 0; }
};

/// The bundled checkpoint's folder: $RELUCENT_MODEL, or share/relucent/model/relucent-minilm-l6-w4 next to the library.
/// Throws Error `io` if it is missing.
RELUCENT_API std::filesystem::path default_model();

/// The folder of a model: `named` itself; without a name default_model(); and if there is no such folder and the name
/// is `ORG/NAME` or `ORG/NAME@REVISION`, that model in Hugging Face's cache, where `relucent model fetch` and
/// huggingface_hub bring it. Never opens a connection. Throws Error `io` for a model that is not in the cache.
/// Everything that takes a model's folder calls it.
RELUCENT_API std::filesystem::path model_folder(const std::filesystem::path& named);

}  // namespace relucent
