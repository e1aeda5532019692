#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/export.h"
#include "relucent/kernels/backend.h"
#include "relucent/kernels/max_sim.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// A candidate for LateInteraction::score(). Views live as long as the call.
struct LateCandidate {
  std::string_view text;       ///< UTF-8; invalid bytes count as U+FFFD. Read only if there are no vectors
  StoredVectors vectors = {};  ///< that encode() of the same checkpoint returned for the text, or no bytes
};

/// One candidate's score.
struct LateScore {
  float score = 0;          ///< higher is better
  std::int32_t tokens = 0;  ///< of a text that was encoded now, with special tokens; 0 if its vectors were given
  bool truncated = false;   ///< the text encoded now was longer than the checkpoint's documents
};

/// The scores of one query's candidates.
struct LateScores {
  std::vector<LateScore> candidates;  ///< in the order given
  bool query_truncated = false;       ///< the query was longer than the checkpoint's queries
  StageTimes times;                   ///< tokenize and encode
};

/// ColBERT: each token of a text has a vector; the score sums, over the query's tokens, the greatest product with a
/// token of the document (MaxSim). An embedding model (bi-encoder) of sentence-transformers is the same with one vector
/// per text: the score is the cosine or dot product. Documents can be encoded before any query. Thread-safe.
class RELUCENT_API LateInteraction {
 public:
  virtual ~LateInteraction() = default;

  /// Reads a checkpoint folder in the layout of colbert-ai, PyLate or Lightning IR, or an embedding model. Throws the
  /// same Errors as CrossEncoder::load; `unsupported` for a checkpoint of another kind.
  static std::shared_ptr<const LateInteraction> load(const std::filesystem::path& checkpoint,
                                                     const BackendOptions& options = {});
  /// Whether load() is for this folder. Throws Error `io` or `invalid_data` if its config.json cannot be read.
  static bool is(const std::filesystem::path& checkpoint);

  virtual std::int32_t size() const noexcept = 0;  ///< numbers per vector
  virtual bool per_text() const noexcept = 0;      ///< an embedding model: each text has one vector
  /// A hash of everything that decides what encode() returns: configuration, tokenizer and weights, but not the device
  /// or its precision.
  virtual std::uint64_t fingerprint() const noexcept = 0;

  /// The vectors of the texts (UTF-8) as documents: [vectors][size], one for each token that scores or, of an embedding
  /// model, one for the text. They depend on the text alone; their bits do not change with the rest of the batch or the
  /// number of threads. Throws Error `deadline` or `interrupted` when `stop` is due, and whatever Backend::encode
  /// throws.
  virtual std::vector<std::vector<float>> encode(std::span<const std::string_view> texts,
                                                 const StopSignal& stop = {}) const = 0;

  /// Scores candidates against `query` (UTF-8). A candidate's score depends only on the query and itself, and is the
  /// same whether its text is encoded now or its vectors are given as fp32. Throws Error: `usage` for vectors of
  /// another size, `deadline` or `interrupted` when `stop` is due.
  virtual LateScores score(std::string_view query, std::span<const LateCandidate> candidates,
                           const StopSignal& stop = {}) const = 0;

  virtual const BackendInfo& backend() const noexcept = 0;
  virtual const std::filesystem::path& checkpoint() const noexcept = 0;
  virtual std::int32_t max_length() const noexcept = 0;  ///< tokens of a document, with special ones
};

}  // namespace relucent
