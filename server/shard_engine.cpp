#include "server/shard_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "relucent/rescore_candidates.h"
#include "server/http_client.h"
#include "server/json.h"
#include "server/refusal.h"
#include "server/scoring.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

using Clock = std::chrono::steady_clock;

std::string text_or_empty(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class ShardEngine final : public Engine {
 public:
  ShardEngine(const std::vector<std::string>& urls, std::string token, const Config& config)
      : config_(config), token_(std::move(token)) {
    for (const std::string& url : urls) shards_.push_back(parse_peer(url));
    if (!config.rescorer.enabled) return;
    stages_ = make_stages(config.rescorer, make_scorers(config.rescorer));
    for (const RescoringStage& stage : stages_) {
      const bool embeddings =
          stage.scorer->embedding_shape().rows > 0 && stage.config.missing_embeddings == MissingEmbeddings::error;
      if (stage.scorer->passage_model() == nullptr && !embeddings) continue;
      throw Error(ErrorKind::unsupported, stage.scorer->describe(), "reads more of the index than texts",
                  "serve it beside each shard, or set [rescorer] missing_embeddings = \"encode\" for a MixEncoder");
    }
    model_ = model_info(config, *stages_.back().scorer);
  }

  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) override {
    RerankScores scores = score_texts(*stages_.back().scorer, {}, query, texts, stop);
    scores.log_probabilities = model_.log_probabilities;
    return scores;
  }

  CollectionStatistics statistics(std::string_view query, const StopSignal& stop) override {
    Json body = Json::object();
    body["query"] = query;
    CollectionStatistics sum;
    for (const Json& part : ask("/statistics", body.dump(), stop)) sum += parse_statistics(part);
    return sum;
  }

  SearchAnswer search(const SearchOrder& order, const StopSignal& stop) override {
    if (order.explain) throw not_valid("`explain` is not possible over shards: ask the shard that has the document");
    const auto start = Clock::now();
    SearchAnswer answer;
    SearchResult& result = answer.result;
    result.query = order.query;
    result.rescoring = order.rescore && !stages_.empty();
    const auto hits =
        static_cast<std::size_t>(result.rescoring ? std::max(order.hits, config_.rescorer.first_window()) : order.hits);
    const CollectionStatistics collection = order.statistics ? *order.statistics : statistics(order.query, stop);
    result.no_words = collection.fields.empty();
    result.times.parse = time_since(start);
    if (result.rescoring) result.status = to_string(RescoreStatus::no_hits);
    if (!result.no_words) {
      const auto searching = Clock::now();
      result.hits = first_stage(order, hits, collection, stop, result.total_hits);
      result.times.first_stage = time_since(searching);
      if (result.rescoring) rescore(order, stop, result);
      if (result.hits.size() > static_cast<std::size_t>(order.hits)) {
        result.hits.resize(static_cast<std::size_t>(order.hits));
      }
    }
    if (order.texts == SearchSession::Texts::none) {
      for (SearchHit& hit : result.hits) {
        hit.text.clear();
        if (hit.passage) hit.passage->text.clear();
      }
    }
    result.total = time_since(start);
    return answer;
  }

  bool can_rerank() const override { return !stages_.empty(); }
  bool can_search() const override { return true; }
  const ModelInfo& model() const override { return model_; }
  ScoreCacheCounts cache() const override { return cache_counts(stages_); }

 private:
  /// What each shard answers. Throws Refusal if one does not.
  std::vector<Json> ask(std::string_view path, const std::string& body, const StopSignal& stop) const {
    stop.throw_if_due("asking the shards");
    const auto deadline = stop.deadline.value_or(Clock::now() + config_.server.request_timeout);
    const std::vector<Reply> replies = post_to_all(shards_, {path, body, token_, deadline});
    stop.throw_if_due("asking the shards");
    std::vector<Json> answers;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const Reply& reply = replies[i];
      const std::string name = fmt::format("shard {} of {}", i + 1, replies.size());
      if (reply.status == 0) throw Refusal(424, "Backend", fmt::format("{}: {}", name, reply.problem));
      Json json = Json::parse(reply.body, nullptr, false);
      if (reply.status == 200 && json.is_object()) {
        answers.push_back(std::move(json));
        continue;
      }
      const std::string problem = json.is_object() ? text_or_empty(json, "error") : std::string("no answer in JSON");
      const bool busy = reply.status == 429 || reply.status == 503;
      throw Refusal(busy ? 503 : 424, busy ? "Overloaded" : "Backend",
                    fmt::format("{} answered {}: {}", name, reply.status, problem));
    }
    return answers;
  }

  /// The best hits of all shards by BM25, with their texts.
  std::vector<SearchHit> first_stage(const SearchOrder& order, std::size_t count,
                                     const CollectionStatistics& collection, const StopSignal& stop,
                                     std::int64_t& total) const {
    Json body{{"query", order.query}, {"k", count}, {"texts", "full"}, {"rescore", false}};
    body["statistics"] = statistics_json(collection);
    std::vector<SearchHit> hits;
    try {
      for (const Json& answer : ask("/search", body.dump(), stop)) {
        total += answer.at("total_hits").get<std::int64_t>();
        for (const Json& found : answer.at("hits")) {
          SearchHit& hit = hits.emplace_back();
          hit.id = found.at("id").get<std::string>();
          hit.text = found.at("text").get<std::string>();
          hit.score = hit.first_stage_score = found.at("first_stage_score").get<double>();
          hit.status = "not_rescored";
        }
      }
    } catch (const Json::exception&) {
      throw Refusal(424, "Backend", "a shard's answer is not one of this version");
    }
    std::ranges::stable_sort(hits, [](const SearchHit& a, const SearchHit& b) { return a.score > b.score; });
    if (hits.size() > count) hits.resize(count);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      hits[i].rank = hits[i].first_stage_rank = static_cast<std::int64_t>(i) + 1;
    }
    return hits;
  }

  /// Orders the hits as a searcher of one index would.
  void rescore(const SearchOrder& order, StopSignal stop, SearchResult& result) const {
    if (config_.rescorer.timeout.count() > 0) {
      stop.deadline =
          std::min(stop.deadline.value_or(Clock::time_point::max()), Clock::now() + config_.rescorer.timeout);
    }
    std::vector<SearchHit> before = std::move(result.hits);
    result.hits.clear();
    std::vector<Candidate> candidates;
    for (const SearchHit& hit : before) {
      candidates.push_back({hit.id, hit.text, hit.first_stage_score, static_cast<std::int32_t>(hit.first_stage_rank)});
    }
    const RescoredCandidates rescored = rescore_candidates(stages_, order.query, candidates, stop);
    describe(rescored, result);
    for (const CombinedHit& combined : rescored.order) {
      SearchHit& hit = result.hits.emplace_back(before[combined.index]);
      hit.rank = static_cast<std::int64_t>(result.hits.size());
      if (rescored.in_first_stage_order) continue;
      hit.score = static_cast<double>(combined.score);
      if (combined.index >= rescored.scores.size()) {
        hit.status = "beyond_window";
      } else if (const auto& score = rescored.scores[combined.index]) {
        set_scores(rescored, combined.index, *score, hit);
        if (result.hits.size() <= static_cast<std::size_t>(order.hits)) {
          set_passage(rescored, combined.index, candidates[combined.index], stop, hit);
        }
      } else {
        hit.status = "without_text";
      }
    }
  }

  void describe(const RescoredCandidates& rescored, SearchResult& result) const {
    result.status = to_string(rescored.status);
    result.degraded = rescored.degraded;
    result.reason = rescored.reason;
    for (const auto& score : rescored.scores) {
      if (rescored.in_first_stage_order) break;
      (score ? result.rescored : result.without_text) += 1;
      if (!score) continue;
      result.truncated += score->truncated ? 1 : 0;
      result.cached += score->cached ? 1 : 0;
      result.query_truncated = result.query_truncated || score->query_truncated;
    }
    const StageTimes& times = rescored.times;
    result.times.tokenize = times.tokenize;
    result.times.encode = times.encode;
    result.times.device = times.device;
    result.times.combine = times.combine;
  }

  static void set_scores(const RescoredCandidates& rescored, std::size_t index, const CandidateScore& score,
                         SearchHit& hit) {
    hit.status = "rescored";
    hit.logit = score.score;
    hit.truncated = score.truncated;
    for (const StageResult& stage : rescored.stages) {
      if (const auto& given = stage.scores[index]) hit.stage_logits.push_back(given->score);
    }
  }

  void set_passage(const RescoredCandidates& rescored, std::size_t index, const Candidate& candidate,
                   const StopSignal& stop, SearchHit& hit) const {
    if (!config_.rescorer.find_passages || stop.due()) return;
    try {
      const Scorer& scorer = *stages_[rescored.stage_of(index)].scorer;
      const auto range = scorer.passage(candidate, *rescored.scores[index], stop);
      if (!range || range->begin > range->end || range->end > hit.text.size()) return;
      hit.passage = {config_.index.text_field, hit.text.substr(range->begin, range->end - range->begin), range->begin,
                     range->end, range->end == hit.text.size()};
    } catch (const Error&) {  // as in a searcher: a deadline or a fault leaves the passage out
    }
  }

  Config config_;
  std::string token_;
  std::vector<Peer> shards_;
  std::vector<RescoringStage> stages_;
  ModelInfo model_;
};

}  // namespace

std::shared_ptr<Engine> open_shards(const std::vector<std::string>& urls, const std::string& token,
                                    const Config& config) {
  return std::make_shared<ShardEngine>(urls, token, config);
}

}  // namespace relucent::server
