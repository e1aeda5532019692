#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/graphs/document_graph.h"
#include "model/tokenizer/wordpiece.h"
#include "relucent/kernels/backend.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent {

/// What the graphs of a MIR's documents follow from, besides the documents and the index.
struct GraphForm {
  GraphSettings settings;
  std::shared_ptr<const WordPieceTokenizer> tokenizer;
  std::optional<GraphOrigins> trained_with = {};  ///< if the checkpoint states it
};

/// Reads a checkpoint, but makes no backend. Throws the same Errors as PassageModel::load().
GraphForm load_graph_form(const std::filesystem::path& checkpoint);

/// A document and its graph, which was made of the same text with the model's settings and tokenizer.
struct GraphedDocument {
  std::string_view text;  ///< UTF-8
  const DocumentGraph* graph = nullptr;
  /// The first ids that the model's tokenizer makes of the text, or all of them; empty if they are not known. They save
  /// tokenizing the text again.
  std::span<const std::int32_t> ids = {};
  bool all_ids = false;        ///< there are no more
  std::string_view name = {};  ///< for errors; empty: its number
};

struct PassageScore {
  std::optional<float> logit;  ///< nothing for a document without pieces
  std::int32_t tokens = 0;     ///< that the model saw, over all passages, with the query and special tokens
  bool truncated = false;      ///< the document has more pieces than count
};

struct PassageScores {
  std::vector<PassageScore> documents;  ///< in the order given
  bool query_truncated = false;         ///< the query has more pieces than max_query_tokens
  StageTimes times;                     ///< tokenize, encode and device
};

/// A MIR checkpoint: scores documents by their passages, which exchange information along the documents' graphs.
/// Immutable, thread-safe.
class PassageModel {
 public:
  /// Throws the Errors of a checkpoint that cannot be read or run; `unsupported` for one of another family.
  static std::unique_ptr<const PassageModel> load(const std::filesystem::path& checkpoint,
                                                  const BackendOptions& options);
  virtual ~PassageModel() = default;

  /// One raw logit per document. A logit's bits depend only on the query and the document. Throws Error: `invalid_data`
  /// for a graph that was made of another text; `deadline` or `interrupted` when `stop` is due.
  virtual PassageScores score(std::string_view query, std::span<const GraphedDocument> documents,
                              const StopSignal& stop = {}) const = 0;

  virtual const GraphForm& graph_form() const noexcept = 0;
  virtual const BackendInfo& backend() const noexcept = 0;
  virtual const std::filesystem::path& checkpoint() const noexcept = 0;
  const GraphSettings& graph_settings() const noexcept { return graph_form().settings; }
  const WordPieceTokenizer& tokenizer() const noexcept { return *graph_form().tokenizer; }
};

}  // namespace relucent
