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

namespace relucent {

/// A document and its graph, which was made of the same text with the model's settings and tokenizer.
struct GraphedDocument {
  std::string_view text;  ///< UTF-8
  const DocumentGraph* graph = nullptr;
};

/// A MIR checkpoint: scores documents by their passages, which exchange information along the documents' graphs.
/// Immutable, thread-safe.
class PassageModel {
 public:
  /// Throws the Errors of a checkpoint that cannot be read or run; `unsupported` for one of another family.
  static std::unique_ptr<const PassageModel> load(const std::filesystem::path& checkpoint,
                                                  const BackendOptions& options);
  virtual ~PassageModel() = default;

  /// One raw logit per document; nothing for one without pieces. A logit's bits depend only on the query and the
  /// document. Throws Error: `invalid_data` for a graph that was made of another text; `deadline` or `interrupted` when
  /// `stop` is due.
  virtual std::vector<std::optional<float>> score(std::string_view query, std::span<const GraphedDocument> documents,
                                                  const StopSignal& stop = {}) const = 0;

  virtual const GraphSettings& graph_settings() const noexcept = 0;
  virtual const WordPieceTokenizer& tokenizer() const noexcept = 0;
  virtual const BackendInfo& backend() const noexcept = 0;
};

}  // namespace relucent
