#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relucent/config.h"
#include "relucent/embedding_numbers.h"
#include "relucent/error.h"
#include "relucent/export.h"
#include "relucent/segment_identity.h"
#include "relucent/stop.h"
#include "relucent/token_ids.h"

/// What scorers read of a candidate besides its text: kinds of input, each of them one class, which a scorer names in
/// Scorer::inputs(). Searches, rescore_candidates(), the cache of scores and the server then bring, keep and pass on
/// inputs of any kind.
namespace relucent {

/// A term of a text as an index's analyzer makes it, and its word: the code points [begin, end) of the text, of which a
/// malformed sequence is one.
struct IndexTerm {
  std::string term;
  std::size_t begin = 0, end = 0;
};

/// What candidates come from, as far as inputs can be made of it: a searched index; for texts from elsewhere an index
/// of the same kind of texts; or, by default, nothing. Thread-safe.
class RELUCENT_API InputIndex {
 public:
  /// The candidates are texts alone.
  InputIndex() = default;
  InputIndex(IndexConfig fields, FirstStageConfig first_stage) : fields_(std::move(fields)), first_stage_(first_stage) {
    first_stage_.analyzer = analyzer_of(fields_, first_stage_);
  }
  virtual ~InputIndex() = default;
  InputIndex(const InputIndex&) = delete;
  InputIndex& operator=(const InputIndex&) = delete;

  const IndexConfig& fields() const noexcept { return fields_; }
  const FirstStageConfig& first_stage() const noexcept { return first_stage_; }

  /// Whether the candidates are documents of the index. Otherwise their texts come from elsewhere.
  virtual bool has_candidates() const { return false; }
  /// Where files next to the index lie; empty if it is not a folder of Lucene++ segments.
  virtual std::filesystem::path folder() const { return {}; }
  /// In document order; none if folder() is empty.
  virtual std::vector<SegmentIdentity> segments() const { return {}; }
  /// Tokenizer::fingerprint() of the stored token ids; 0: there are none.
  virtual std::uint64_t tokenizer() const { return 0; }

  /// Whether the next three can be called.
  virtual bool has_terms() const { return false; }
  virtual std::uint64_t documents() const { return 0; }  ///< with at least one term
  /// How many documents have the term.
  virtual std::uint64_t frequency(std::string_view /*term*/) const { return 0; }
  /// The terms that the index's analyzer makes of a text (UTF-8), in the text's order.
  virtual std::vector<IndexTerm> terms_of(std::string_view /*text*/) const { return {}; }

  /// Logs a warning, the same text only once.
  virtual void warn(const std::string& /*message*/) const {}

 private:
  IndexConfig fields_;
  FirstStageConfig first_stage_;
};

/// A candidate whose input is wanted. Views live as long as the call.
struct InputDocument {
  std::int32_t number = -1;   ///< in the index; -1: a text from elsewhere
  std::string_view id, text;  ///< UTF-8; empty if they are not known yet, because the input stands for the text
  /// The first binary value of InputSource::stored_field(), if the document has one.
  std::optional<std::string_view> stored = {};
};

/// What brings the inputs of one kind, opened once and kept as long as the searched index. Thread-safe.
class RELUCENT_API InputSource {
 public:
  InputSource() = default;
  virtual ~InputSource() = default;
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  /// A document's input in the form of its kind; nullopt: it has none. If the input stands for the text: empty if the
  /// document has nothing to read, nullopt if the text is to be read instead. Depends on the document and the index
  /// alone. Throws Error, of kind `deadline` or `interrupted` when `stop` is due.
  virtual std::optional<std::string> read(const InputDocument& document, const StopSignal& stop) const = 0;
  /// A stored field that is read together with the texts, for a kind that does not stand for the text; empty: none.
  virtual std::string stored_field() const { return {}; }
  /// Why documents lack an input that they must have, with the remedy: a searcher is not opened then.
  virtual std::optional<Error> problem() const { return std::nullopt; }
};

/// What an input is to a scorer.
enum class InputRole {
  addition,    ///< read along with the text
  instead,     ///< stands for the text: candidates that have it need no text, others are read by their texts
  saves_work,  ///< follows from the text: no score depends on it
};

/// A kind of input, as one scorer needs it. Immutable, thread-safe.
class RELUCENT_API InputKind {
 public:
  InputKind() = default;
  virtual ~InputKind() = default;
  InputKind(const InputKind&) = delete;
  InputKind& operator=(const InputKind&) = delete;

  /// By which a scorer finds the input: Candidate::input().
  virtual std::string_view name() const = 0;
  virtual InputRole role() const = 0;
  /// Whether an index is needed to make it, even for a text from elsewhere.
  virtual bool needs_index() const { return false; }
  /// Opens what brings it; null if there is nothing and the scorer does without. Called by open_inputs(), which opens
  /// the kinds of this header itself, so that modules of scorers need no library. Throws Error.
  virtual std::shared_ptr<const InputSource> open(const std::shared_ptr<const InputIndex>& /*index*/,
                                                  const StageConfig& /*stage*/) const {
    return nullptr;
  }
};
using InputKinds = std::vector<std::shared_ptr<const InputKind>>;

/// The token ids that an index stores of its texts; read_token_ids() reads them. A shortcut only: tokenizing the text
/// gives the same ids.
class RELUCENT_API TokenIdsKind final : public InputKind {
 public:
  static constexpr std::string_view kName = "token_ids";

  /// @param tokenizer  returns Tokenizer::fingerprint() of the ids that the scorer can use; 0: none at the moment
  explicit TokenIdsKind(std::function<std::uint64_t()> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  std::string_view name() const override { return kName; }
  InputRole role() const override { return InputRole::saves_work; }
  std::uint64_t tokenizer() const { return tokenizer_(); }

 private:
  std::function<std::uint64_t()> tokenizer_;
};

/// The numbers that a scorer can read instead of a text.
struct EmbeddingShape {
  std::uint64_t fingerprint = 0;  ///< of everything that decides them; the same for scorers that encode alike
  std::int32_t rows = 0;          ///< vectors per candidate; 0: as many as its text needs
  std::int32_t hidden = 0;        ///< numbers per vector

  std::size_t values() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(hidden); }
  friend bool operator==(const EmbeddingShape&, const EmbeddingShape&) = default;
};

/// Embeddings, which `relucent encode` stores next to an index before any query arrives.
class RELUCENT_API EmbeddingKind final : public InputKind {
 public:
  static constexpr std::string_view kName = "embedding";

  /// The embeddings of texts (UTF-8, not blank), each [rows][hidden]. A text's embedding depends on it alone. Throws
  /// Error, of kind `deadline` or `interrupted` when `stop` is due.
  using Encode =
      std::function<std::vector<std::vector<float>>(std::span<const std::string_view> texts, const StopSignal& stop)>;

  /// @param encode    may refer to the scorer, without which it is not called
  /// @param optional  whether an index may lack them all, whatever [rescorer] missing_embeddings states
  EmbeddingKind(const EmbeddingShape& shape, Encode encode, bool optional = false)
      : shape_(shape), encode_(std::move(encode)), optional_(optional) {}

  std::string_view name() const override { return kName; }
  InputRole role() const override { return InputRole::instead; }

  const EmbeddingShape& shape() const noexcept { return shape_; }
  bool optional() const noexcept { return optional_; }
  std::vector<std::vector<float>> encode(std::span<const std::string_view> texts, const StopSignal& stop) const {
    return encode_(texts, stop);
  }
  /// The form of the input with a fixed number of rows: its numbers. Otherwise it is stored_vectors(). `bytes` must be
  /// aligned as floats are, as inputs that were brought are.
  static std::span<const float> read(std::string_view bytes) noexcept {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  static std::string_view bytes_of(std::span<const float> embedding) noexcept {
    return {reinterpret_cast<const char*>(embedding.data()), embedding.size_bytes()};
  }
  /// The form of the input with any number of rows: how its numbers are stored, as one byte, then the vectors, as they
  /// are stored (store_vector()). Many candidates have many vectors: as floats they would take several times the
  /// memory.
  static std::string stored_vectors(EmbeddingNumbers numbers, std::string_view vectors) {
    return std::string(1, static_cast<char>(numbers)).append(vectors);
  }

 private:
  EmbeddingShape shape_;
  Encode encode_;
  bool optional_;
};

/// The sources of a scorer's kinds of input, in the order of Scorer::inputs(); null where there is none.
using InputSources = std::vector<std::shared_ptr<const InputSource>>;

/// Opens them. Throws what they throw.
RELUCENT_API InputSources open_inputs(const InputKinds& kinds, const std::shared_ptr<const InputIndex>& index,
                                      const StageConfig& stage);

}  // namespace relucent
