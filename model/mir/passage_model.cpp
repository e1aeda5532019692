#include "model/mir/passage_model.h"

#include <fmt/format.h>

#include <cmath>

#include "model/checkpoint/checkpoint_reader.h"
#include "model/mir/passage_batch.h"
#include "relucent/error.h"

namespace relucent {
namespace {

class LoadedPassageModel final : public PassageModel {
 public:
  LoadedPassageModel(Checkpoint checkpoint, const BackendOptions& options)
      : folder_(std::move(checkpoint.folder)),
        form_(*checkpoint.configuration.passages),
        tokenizer_(std::move(checkpoint.tokenizer)),
        wordpiece_(dynamic_cast<const WordPieceTokenizer&>(*tokenizer_)),
        backend_(create_backend(checkpoint.configuration.description, checkpoint.weights.weights, options)) {}

  std::vector<std::optional<float>> score(std::string_view query, std::span<const GraphedDocument> documents,
                                          const StopSignal& stop) const override {
    std::vector<std::int32_t> pieces;
    wordpiece_.encode(query, static_cast<std::size_t>(form_.max_query_tokens), pieces, stop);
    PassageBatch batch(form_, pieces);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const DocumentGraph& graph = *documents[i].graph;
      const auto most = static_cast<std::size_t>(form_.graphs.max_document_tokens);
      pieces.clear();
      wordpiece_.encode(documents[i].text, most, pieces, stop);
      if (pieces.size() != static_cast<std::size_t>(graph.pieces)) {
        throw Error(ErrorKind::invalid_data, fmt::format("document {}", i),
                    fmt::format("its graph has {} pieces, but its text {}", graph.pieces, pieces.size()),
                    "make the graphs again");
      }
      if (graph.pieces > 0) batch.add(pieces, graph);
    }
    std::vector<float> logits(batch.documents());
    if (!logits.empty()) backend_->score(batch.batch(), logits, stop);
    std::vector<std::optional<float>> scores;
    auto next = logits.begin();
    for (const GraphedDocument& document : documents) {
      scores.push_back(document.graph->pieces > 0 ? std::optional(*next++) : std::nullopt);
      if (scores.back() && !std::isfinite(*scores.back())) {
        throw Error(ErrorKind::invalid_data, folder_.string(), "the model's score is not a finite number",
                    "run `relucent model check`: the weights are damaged or exceed this precision's range");
      }
    }
    return scores;
  }

  const GraphSettings& graph_settings() const noexcept override { return form_.graphs; }
  const WordPieceTokenizer& tokenizer() const noexcept override { return wordpiece_; }
  const BackendInfo& backend() const noexcept override { return backend_->info(); }

 private:
  std::filesystem::path folder_;
  PassageForm form_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  const WordPieceTokenizer& wordpiece_;
  std::unique_ptr<const Backend> backend_;
};

}  // namespace

std::unique_ptr<const PassageModel> PassageModel::load(const std::filesystem::path& checkpoint,
                                                       const BackendOptions& options) {
  Checkpoint read = read_checkpoint(checkpoint);
  if (!read.configuration.passages) {
    throw Error(ErrorKind::unsupported, checkpoint.string(), "its passages do not exchange information along graphs",
                "use a checkpoint of model type mir");
  }
  return std::make_unique<LoadedPassageModel>(std::move(read), options);
}

}  // namespace relucent
