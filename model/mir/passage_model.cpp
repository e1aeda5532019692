#include "model/mir/passage_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/mir/passage_batch.h"
#include "relucent/error.h"

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

Checkpoint read_mir(const std::filesystem::path& folder) {
  Checkpoint read = read_checkpoint(folder);
  if (!read.configuration.passages) {
    throw Error(ErrorKind::unsupported, folder.string(), "its passages do not exchange information along graphs",
                "use a checkpoint of model type mir");
  }
  return read;
}

/// The checkpoint's reader makes sure that the tokenizer is of this class.
GraphForm take_graph_form(Checkpoint& checkpoint) {
  const std::shared_ptr<const Tokenizer> tokenizer = std::move(checkpoint.tokenizer);
  const PassageForm& form = *checkpoint.configuration.passages;
  return {form.graphs, std::dynamic_pointer_cast<const WordPieceTokenizer>(tokenizer), form.trained_with};
}

class LoadedPassageModel final : public PassageModel {
 public:
  LoadedPassageModel(Checkpoint checkpoint, const BackendOptions& options)
      : folder_(std::move(checkpoint.folder)),
        form_(*checkpoint.configuration.passages),
        graph_form_(take_graph_form(checkpoint)),
        backend_(create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options)) {}

  PassageScores score(std::string_view query, std::span<const GraphedDocument> documents,
                      const StopSignal& stop) const override {
    const auto start = Clock::now();
    PassageScores scores;
    std::vector<std::int32_t> pieces;
    scores.query_truncated = tokenizer().encode(query, static_cast<std::size_t>(form_.max_query_tokens), pieces, stop);
    PassageBatch batch(form_, pieces);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      PassageScore& score = scores.documents.emplace_back();
      score.truncated = take_pieces(documents[i], pieces, stop);
      const DocumentGraph& graph = *documents[i].graph;
      if (pieces.size() != static_cast<std::size_t>(graph.pieces)) {
        const std::string_view name = documents[i].name;
        throw Error(ErrorKind::invalid_data, name.empty() ? fmt::format("document {}", i) : std::string(name),
                    fmt::format("its graph has {} pieces, but its text {}", graph.pieces, pieces.size()),
                    "remove the index's relucent-*.graphs and run `relucent graphs`");
      }
      if (graph.pieces > 0) score.tokens = batch.add(pieces, graph);
    }
    scores.times.tokenize = time_since(start);
    std::vector<float> logits(batch.documents());
    if (!logits.empty()) scores.times.device = backend_->score_with_cost(batch.batch(), logits, stop).time;
    auto next = logits.begin();
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (documents[i].graph->pieces == 0) continue;
      scores.documents[i].logit = *next++;
      if (!std::isfinite(*scores.documents[i].logit)) {
        throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
                    "run `relucent model check`: the weights are damaged or exceed this precision's range");
      }
    }
    scores.times.encode = time_since(start) - scores.times.tokenize;
    return scores;
  }

  const GraphForm& graph_form() const noexcept override { return graph_form_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }
  const std::filesystem::path& checkpoint() const noexcept override { return folder_; }

 private:
  /// The document's pieces that count. Returns whether it has more.
  bool take_pieces(const GraphedDocument& document, std::vector<std::int32_t>& pieces, const StopSignal& stop) const {
    const auto most = static_cast<std::size_t>(form_.graphs.max_document_tokens);
    pieces.clear();
    if (document.all_ids || document.ids.size() > most) {
      const auto used = document.ids.first(std::min(document.ids.size(), most));
      pieces.assign(used.begin(), used.end());
      return document.ids.size() > most;
    }
    return tokenizer().encode(document.text, most, pieces, stop);
  }

  std::filesystem::path folder_;
  PassageForm form_;
  GraphForm graph_form_;
  std::unique_ptr<const Backend> backend_;
};

}  // namespace

GraphForm load_graph_form(const std::filesystem::path& checkpoint) {
  Checkpoint read = read_mir(checkpoint);
  return take_graph_form(read);
}

std::unique_ptr<const PassageModel> PassageModel::load(const std::filesystem::path& checkpoint,
                                                       const BackendOptions& options) {
  return std::make_unique<LoadedPassageModel>(read_mir(checkpoint), options);
}

}  // namespace relucent
