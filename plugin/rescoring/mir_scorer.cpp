#include "plugin/rescoring/mir_scorer.h"

#include <fmt/format.h>

#include <vector>

#include "model/mir/passage_model.h"
#include "relucent/error.h"

namespace relucent {
namespace {

/// The keys that change what a cross-encoder reads: a MIR's passages are those of its graphs.
void refuse_keys_of_texts(const RescorerConfig& config) {
  const auto refuse = [](const char* key) {
    throw Error(ErrorKind::usage, fmt::format("[rescorer] {}", key), "does not apply to a MIR",
                "remove the key: a MIR reads passages as its config.json says");
  };
  if (config.max_length != 0) refuse("max_length");
  if (config.attention_window) refuse("attention_window");
  if (config.pattern != PatternChoice::checkpoint) refuse("pattern");
  if (config.long_documents != LongDocumentMode::truncate) refuse("long_documents");
}

std::unique_ptr<const PassageModel> load_mir(const RescorerConfig& config) {
  refuse_keys_of_texts(config);
  BackendOptions options;
  options.device = config.device;
  options.precision = config.precision;
  options.threads = config.threads;
  return PassageModel::load(config.model, options);
}

class MirScorer final : public Scorer {
 public:
  explicit MirScorer(const RescorerConfig& config) : model_(load_mir(config)) {}

  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    timed_score(query, candidates, scores, stop);
  }

  ScoringStats timed_score(std::string_view query, std::span<const Candidate> candidates,
                           std::span<CandidateScore> scores, const StopSignal& stop) const override {
    std::vector<std::string> names;
    std::vector<DocumentGraph> graphs;
    for (const Candidate& candidate : candidates) {
      names.push_back(fmt::format("document \"{}\"", candidate.id));
      if (!candidate.graph) {
        throw Error(ErrorKind::unsupported, names.back(), "has no graph, and a MIR cannot score without",
                    "search an index with graphs, which `relucent graphs` makes; for `relucent rerank`, name the index "
                    "that the candidates come from with --index");
      }
      graphs.push_back(decode_graph(model_->graph_settings(), *candidate.graph, "the graph of " + names.back()));
    }
    std::vector<GraphedDocument> documents;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      GraphedDocument& document = documents.emplace_back();
      document.text = candidates[i].text;
      document.graph = &graphs[i];
      document.name = names[i];
      if (!candidates[i].tokens) continue;
      document.ids = candidates[i].tokens->ids;
      document.all_ids = candidates[i].tokens->all;
    }
    const PassageScores passages = model_->score(query, documents, stop);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const PassageScore& of = passages.documents.at(i);
      scores[i] = {of.logit.value_or(0), of.tokens, of.truncated, passages.query_truncated};
      scores[i].unreadable = !of.logit;
    }
    return {passages.times};
  }

  std::uint64_t tokenizer() const override { return model_->tokenizer().fingerprint(); }

  bool cacheable() const override { return true; }

  const PassageModel* passage_model() const override { return model_.get(); }

  std::string describe() const override {
    const GraphSettings& settings = model_->graph_settings();
    return fmt::format("MIR {} on {}, passages of {} word pieces of at most {}",
                       model_->checkpoint().lexically_normal().string(), relucent::describe(model_->backend()),
                       settings.window, settings.max_document_tokens);
  }

  std::string notice() const override {
    const std::string& why = model_->backend().why_no_gpu;
    return why.empty() ? "" : "no GPU is used: " + why;
  }

 private:
  std::unique_ptr<const PassageModel> model_;
};

}  // namespace

std::shared_ptr<const Scorer> make_mir_scorer(const RescorerConfig& config) {
  return std::make_shared<MirScorer>(config);
}

}  // namespace relucent
