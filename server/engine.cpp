// The only file of the server that knows Lucene++.
#include "server/engine.h"

#include <Lucene.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <regex>

#include "plugin/graphs/graph_maker.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/rescorer.h"
#include "relucent/stop_scope.h"
#include "server/refusal.h"

namespace relucent::server {
namespace {

ModelInfo describe(const Config& config, const Scorer& scorer) {
  const RescorerConfig stage = config.rescorer.effective_stages().back();
  ModelInfo info;
  const std::string line = scorer.describe();
  info.description = without_paths(line);
  const bool built_in = stage.module == RescorerConfig().module;
  const std::filesystem::path given = built_in ? stage.model : stage.module;
  const std::filesystem::path named = given.empty() ? default_model() : given;
  const std::filesystem::path folder = named.has_filename() ? named : named.parent_path();
  info.name = config.server.model_name.empty() ? folder.filename().string() : config.server.model_name;
  if (built_in) {
    info.max_length = stage.max_length > 0 ? stage.max_length : inspect_checkpoint(named).max_length;
  }
  // Scorers describe their precision in words alone: "... on cpu (avx512, bf16, 2 threads), ...".
  std::smatch found;
  if (std::regex_search(line, found, std::regex("\\b(fp32|tf32|bf16|fp16|int8)\\b"))) info.precision = found[1];
  return info;
}

class OpenEngine final : public Engine {
 public:
  OpenEngine(const std::filesystem::path& index, const Config& config, const OpenEngine* before) : config_(config) {
    const bool same_model = before != nullptr && before->rescorer_ && before->config_.rescorer == config.rescorer &&
                            before->config_.log == config.log;
    if (same_model) rescorer_ = before->rescorer_;
    const std::filesystem::path folder = index.empty() ? std::filesystem::path(config.index.path) : index;
    if (!folder.empty()) {
      // A rescorer has the whole configuration, but shares its scorers.
      if (same_model && before->config_ != config) rescorer_ = with_scorers_of(*rescorer_, config);
      session_ = std::make_unique<SearchSession>(folder, config, QuerySyntax::words, rescorer_);
      rescorer_ = session_->rescorer();
    } else if (config.rescorer.enabled && !rescorer_) {
      rescorer_ = std::make_shared<Rescorer>(config);
    }
    if (!rescorer_) return;
    model_ = describe(config, scorer());
    if (const PassageModel* model = scorer().passage_model(); model != nullptr && !folder.empty()) {
      graphs_.emplace(model->graph_form(), config.first_stage, open_statistics(folder, config));
    }
  }

  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) override {
    std::vector<Candidate> candidates(texts.size());
    std::vector<std::string> graphs(graphs_ ? texts.size() : 0);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      // Scorers get no empty texts; the model reads nothing of a space.
      candidates[i].text = texts[i].empty() ? std::string_view(" ") : std::string_view(texts[i]);
      candidates[i].first_stage_rank = static_cast<std::int32_t>(i) + 1;
      if (graphs_) candidates[i].graph = graphs[i] = graphs_->make(candidates[i].text, stop);
    }
    RerankScores answer;
    answer.scores.resize(texts.size());
    const auto start = std::chrono::steady_clock::now();
    ScoringStats stats = scorer().timed_score(query, candidates, answer.scores, stop);
    answer.times = stats.times;
    answer.times.encode = time_since(start) - stats.times.tokenize;
    answer.fallback = std::move(stats.fallback);
    stop.throw_if_due("scoring the texts");
    for (CandidateScore& score : answer.scores) {
      if (score.unreadable) score.score = std::numeric_limits<float>::lowest();
    }
    return answer;
  }

  SearchAnswer search(const SearchOrder& order, const StopSignal& stop) override {
    const StopScope scope(stop);
    SearchAnswer answer;
    answer.result = session_->search(order.query, order.hits, order.texts);
    if (!order.explain) return answer;
    for (const SearchHit& hit : answer.result.hits) {
      stop.throw_if_due("explaining the hits");
      answer.explanations.push_back(session_->explain(order.query, hit.document));
    }
    return answer;
  }

  bool can_rerank() const override {
    return rescorer_ != nullptr && (scorer().passage_model() == nullptr || graphs_.has_value());
  }
  bool can_search() const override { return session_ != nullptr; }
  const ModelInfo& model() const override { return model_; }
  ScoreCacheCounts cache() const override {
    ScoreCacheCounts sum;
    if (!rescorer_) return sum;
    for (const RescoringStage& stage : rescorer_->stages()) {
      const auto counts = score_cache_counts(*stage.scorer);
      if (!counts) continue;
      sum.hits += counts->hits;
      sum.misses += counts->misses;
      sum.evicted += counts->evicted;
      sum.scores += counts->scores;
      sum.bytes += counts->bytes;
    }
    return sum;
  }

 private:
  const Scorer& scorer() const { return rescorer_->scorer(); }

  static std::shared_ptr<const Rescorer> with_scorers_of(const Rescorer& other, const Config& config) {
    std::vector<std::shared_ptr<const Scorer>> scorers;
    for (const RescoringStage& stage : other.stages()) scorers.push_back(stage.scorer);
    return std::make_shared<Rescorer>(config, std::move(scorers));
  }

  Config config_;
  std::shared_ptr<const Rescorer> rescorer_;  // null: BM25 alone
  std::unique_ptr<SearchSession> session_;    // null: no index
  std::optional<GraphMaker> graphs_;          // of a MIR
  ModelInfo model_;
};

}  // namespace

std::shared_ptr<Engine> open_engine(const std::filesystem::path& index, const Config& config,
                                    const std::shared_ptr<Engine>& before) {
  return std::make_shared<OpenEngine>(index, config, dynamic_cast<const OpenEngine*>(before.get()));
}

}  // namespace relucent::server
