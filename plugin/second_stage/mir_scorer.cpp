#include <fmt/core.h>

#include <vector>

#include "model/mir/passage_model.h"
#include "plugin/second_stage/built_in_scorers.h"
#include "plugin/second_stage/device_fallback.h"
#include "plugin/second_stage/encoder_options.h"
#include "plugin/second_stage/graph_input.h"
#include "plugin/second_stage/token_ids_input.h"
#include "relucent/error.h"

namespace relucent {
namespace {

std::shared_ptr<const PassageModel> load_mir(const ScorerConfig& config, const BackendOptions& options) {
  refuse_text_keys(config, "a MIR", "reads passages as its config.json states");
  return PassageModel::load(config.model, options);
}

class MirScorer final : public ModelScorer<PassageModel> {
 public:
  MirScorer(const ScorerConfig& config, OnError on_error)
      : ModelScorer("MIR", config, on_error, load_mir),
        form_(models_.needed_encoder()),
        inputs_{std::make_shared<TokenIdsKind>([this] { return form_->tokenizer().fingerprint(); }),
                make_graph_kind(form_->graph_form(), form_->checkpoint())} {}

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<std::string> names;
    std::vector<DocumentGraph> graphs;
    for (const Candidate& candidate : candidates) {
      names.push_back(fmt::format("document \"{}\"", candidate.id));
      const auto graph = candidate.input(kGraphInput);
      if (!graph) {
        throw Error(ErrorKind::unsupported, names.back(), "has no graph, and a MIR cannot score without",
                    "search an index with graphs, which `relucent graphs` makes; for `relucent rerank`, name the index "
                    "that the candidates come from with --index");
      }
      graphs.push_back(decode_graph(form_->graph_settings(), *graph, "the graph of " + names.back()));
    }
    const auto ids = token_ids_of(candidates);
    std::vector<GraphedDocument> documents;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      GraphedDocument& document = documents.emplace_back();
      document.text = candidates[i].text;
      document.graph = &graphs[i];
      document.name = names[i];
      if (!ids[i]) continue;
      document.ids = ids[i]->ids;
      document.all_ids = ids[i]->all;
    }
    const auto [passages, reason] =
        models_.score([&](const PassageModel& model) { return model.score(query, documents, stop); }, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PassageScore& of = passages.documents.at(i);
      scores[i] = {of.logit.value_or(0), of.tokens, of.truncated, passages.query_truncated};
      scores[i].unreadable = !of.logit;
    }
    return {passages.times, reason};
  }

  InputKinds inputs() const override { return inputs_; }

  std::string describe_model(const PassageModel& model) const override {
    const GraphSettings& settings = form_->graph_settings();
    return fmt::format("MIR {} on {}, passages of {} word pieces of at most {}",
                       model.checkpoint().lexically_normal().string(), relucent::describe(model.backend()),
                       settings.window, settings.max_document_tokens);
  }

 private:
  std::shared_ptr<const PassageModel> form_;  // for what all of them have in common: settings and tokenizer
  InputKinds inputs_;
};

}  // namespace

std::shared_ptr<const Scorer> make_mir_scorer(const ScorerConfig& config, OnError on_error) {
  return std::make_shared<MirScorer>(config, on_error);
}

}  // namespace relucent
