#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "relucent/analysis.h"
#include "relucent/rescore_candidates.h"
#include "server/answer.h"
#include "server/document_requests.h"
#include "server/engine.h"
#include "server/http_client.h"
#include "server/refusal.h"
#include "server/scoring.h"
#include "server/shard_answers.h"
#include "server/statistics_json.h"

namespace relucent::server {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether two shards read the same words in a query.
bool same_words(const CollectionStatistics& a, const CollectionStatistics& b) {
  const auto same_name = [](const auto& x, const auto& y) { return x.first == y.first; };
  return std::ranges::equal(a.fields, b.fields, [&](const auto& x, const auto& y) {
    return same_name(x, y) &&
           std::ranges::equal(x.second.document_frequencies, y.second.document_frequencies, same_name);
  });
}

/// The shards' indexes, of which only texts arrive here.
class TextsOfShards final : public InputIndex {
 public:
  bool has_candidates() const override { return true; }
};

void require_texts_alone(const RescoringStage& stage) {
  try {
    for (const auto& source :
         open_inputs(stage.scorer->inputs(), std::make_shared<const TextsOfShards>(), stage.config)) {
      if (source && source->problem()) throw Error(*source->problem());
    }
  } catch (const Error&) {
    throw Error(ErrorKind::unsupported, stage.scorer->describe(), "reads more of the index than texts",
                "serve it next to each shard, or set [rescorer] missing_embeddings = \"encode\" for a MixEncoder");
  }
}

class ShardEngine final : public Engine {
 public:
  ShardEngine(const std::vector<std::string>& urls, std::string token, const Config& config)
      : config_(config), token_(std::move(token)) {
    for (const std::string& url : urls) shards_.push_back(parse_peer(url));
    if (!config.rescorer.enabled) return;
    stages_ = make_stages(config.rescorer, make_scorers(config.rescorer));
    for (const RescoringStage& stage : stages_) require_texts_alone(stage);
    open_inputs(stages_);
    model_ = model_info(config, *stages_.back().scorer);
  }

  RerankScores rerank(std::string_view query, std::span<const std::string> texts, const StopSignal& stop) override {
    RerankScores scores = score_texts(stages_.back(), query, texts, stop);
    scores.meaning = model_.meaning;
    return scores;
  }

  CollectionStatistics statistics(const SearchOrder& asked) override {
    const std::string& query = asked.query;
    ShardOrder order{query};
    order.searched_fields = std::max<std::size_t>({1, asked.search_fields.size(), config_.first_stage.fields.size()});
    Answer body{{"query", query}};
    const bool has_fields = !asked.search_fields.empty();
    if (has_fields) body["search_fields"] = asked.search_fields;
    const std::vector<Reply> replies =
        ask("/statistics", to_text(body), max_statistics_bytes(order), asked.stop, asked.trace, has_fields);
    CollectionStatistics first, sum;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const CollectionStatistics part = read_statistics(name_of(i), replies[i].body, order);
      if (i == 0) first = part;
      if (!same_words(part, first)) {
        throw Error(ErrorKind::invalid_data, name_of(i), "reads other words in the query than the first shard",
                    "index and serve all parts with the same [index] language, [index] contents_field and "
                    "[first_stage] fields");
      }
      try {
        sum += part;
      } catch (const Error& error) {
        throw Error(error.kind(), name_of(i), error.problem());
      }
    }
    const AnalyzerKind analyzer = analyzer_of(config_.index, config_.first_stage);
    if (sum.fields.empty() && can_analyze(analyzer) && !analyze(analyzer, query).empty()) {
      throw Error(ErrorKind::invalid_data, name_of(0), "reads no words in the query, which has some",
                  "give the front the [index] language of the shards");
    }
    return sum;
  }

  SearchResult search(const SearchOrder& order) override {
    if (order.explain) throw not_valid("`explain` is not possible over shards: ask the shard that has the document");
    const auto start = Clock::now();
    const StopSignal& stop = order.stop;
    SearchResult result;
    result.query = order.query;
    result.rescoring = order.rescore && !stages_.empty();
    const std::int32_t end = order.offset + order.hits;
    const auto hits = static_cast<std::size_t>(result.rescoring ? std::max(end, config_.rescorer.first_window()) : end);
    const CollectionStatistics collection = order.statistics ? *order.statistics : statistics(order);
    result.no_words = collection.fields.empty();
    result.times.parse = time_since(start);
    result.facets = add_facets(order.facets, {});
    if (!result.no_words) {
      const auto searching = Clock::now();
      const bool texts = result.rescoring || order.texts != HitTexts::none;
      result.hits = first_stage(order, hits, texts, collection, stop, result);
      result.times.first_stage = time_since(searching);
      if (result.rescoring) rescore(order, result);
      if (result.hits.size() > static_cast<std::size_t>(end)) result.hits.resize(static_cast<std::size_t>(end));
      std::erase_if(result.hits, [&](const SearchHit& hit) { return hit.rank <= order.offset; });
    }
    const std::string& only = order.id;
    std::erase_if(result.hits, [&](const SearchHit& hit) { return !only.empty() && hit.id != only; });
    if (order.texts == HitTexts::none) {
      for (SearchHit& hit : result.hits) {
        hit.text.clear();
        if (hit.passage) hit.passage->text.clear();
      }
    }
    result.total = time_since(start);
    return result;
  }

  std::optional<StoredDocument> document(std::string_view id, const StopSignal& stop,
                                         const TraceContext* trace) override {
    stop.throw_if_due("asking the shards");
    const std::string path = document_path(id);
    const std::size_t max_bytes = max_document_bytes(config_.server);
    const auto deadline = stop.deadline.value_or(Clock::now() + config_.server.request_timeout);
    const std::vector<Reply> replies =
        ask_all(shards_, {path, {}, token_, deadline, stop.stop, max_bytes, trace, PeerOrder::Method::get});
    stop.throw_if_due("asking the shards");
    std::optional<StoredDocument> found;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].status == 404) continue;
      require_answer(i, replies[i], max_bytes);
      if (!found) found = read_document(name_of(i), replies[i].body);
    }
    return found;
  }

  bool can_rerank() const override { return !stages_.empty(); }
  bool can_search() const override { return true; }
  const ModelInfo& model() const override { return model_; }
  ScoreCacheCounts cache() const override { return cache_counts(stages_); }
  std::shared_ptr<Engine> refreshed() override { return nullptr; }

 private:
  std::string name_of(std::size_t shard) const { return fmt::format("shard {} of {}", shard + 1, shards_.size()); }

  /// What each shard answers with status 200. Throws Refusal if one does not; 422 alone is the fault of a client of
  /// whose request a part was passed on.
  std::vector<Reply> ask(std::string_view path, const std::string& body, std::size_t max_bytes, const StopSignal& stop,
                         const TraceContext* trace, bool clients_part = false) const {
    stop.throw_if_due("asking the shards");
    const auto deadline = stop.deadline.value_or(Clock::now() + config_.server.request_timeout);
    std::vector<Reply> replies = ask_all(shards_, {path, body, token_, deadline, stop.stop, max_bytes, trace});
    stop.throw_if_due("asking the shards");
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const Reply& reply = replies[i];
      if (reply.status == 422 && clients_part) throw not_valid(read_error(reply.body));
      require_answer(i, reply, max_bytes);
    }
    return replies;
  }

  /// Throws Refusal, or Error, unless the shard answered with status 200.
  void require_answer(std::size_t i, const Reply& reply, std::size_t max_bytes) const {
    if (reply.too_long) {
      throw Error(ErrorKind::invalid_data, name_of(i),
                  fmt::format("its answer is longer than the {} bytes that were asked for", max_bytes),
                  "if its texts are that long, raise the front's [server] text_bytes");
    }
    if (reply.status == 0) throw Refusal(424, "Backend", fmt::format("{}: {}", name_of(i), reply.problem));
    if (reply.status == 200) return;
    const bool busy = reply.status == 429 || reply.status == 503;
    throw Refusal(busy ? 503 : 424, busy ? "Overloaded" : "Backend",
                  fmt::format("{} answered {}: {}", name_of(i), reply.status, read_error(reply.body)));
  }

  /// The best hits of all shards by BM25, with their texts if something reads them.
  std::vector<SearchHit> first_stage(const SearchOrder& order, std::size_t count, bool texts,
                                     const CollectionStatistics& collection, const StopSignal& stop,
                                     SearchResult& result) const {
    const ShardOrder asked{order.query, count, texts, order.all_fields || !order.fields.empty(), order.facets};
    Answer body{{"query", order.query}, {"k", count}, {"texts", texts ? "full" : "none"}, {"rescore", false}};
    body["statistics"] = statistics_json(collection);
    const bool filtered = !order.filter.empty(), counted = !order.facets.empty();
    if (filtered) body["filter"] = Answer::verbatim(order.filter);
    if (counted) body["facets"] = order.facets;
    if (order.all_fields) body["fields"] = "all";
    if (!order.fields.empty()) body["fields"] = order.fields;
    if (!order.search_fields.empty()) body["search_fields"] = order.search_fields;
    std::vector<Reply> replies = ask("/search", to_text(body), max_hits_bytes(asked, config_.server), stop, order.trace,
                                     order.statistics || filtered || counted || !order.search_fields.empty());
    std::vector<std::vector<FacetCounts>> facets;
    std::vector<SearchHit> hits;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      ShardHits found = read_hits(name_of(i), std::exchange(replies[i], {}).body, asked);
      result.total_hits += found.total;
      result.total_is_exact = result.total_is_exact && found.total_is_exact;
      facets.push_back(std::move(found.facets));
      std::ranges::move(found.hits, std::back_inserter(hits));
      stop.throw_if_due("reading the shards' answers");
    }
    result.facets = add_facets(order.facets, facets);
    std::ranges::stable_sort(hits, [](const SearchHit& a, const SearchHit& b) { return a.score > b.score; });
    if (hits.size() > count) hits.resize(count);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      hits[i].first_stage_rank = static_cast<std::int32_t>(i) + 1;
      hits[i].rank = hits[i].first_stage_rank;
    }
    return hits;
  }

  /// Orders the hits as a searcher of one index would.
  void rescore(const SearchOrder& order, SearchResult& result) const {
    std::vector<SearchHit> before = std::move(result.hits);
    result.hits.clear();
    std::vector<Candidate> candidates;
    for (const SearchHit& hit : before) {
      candidates.push_back({hit.id, hit.text, hit.first_stage_score, hit.first_stage_rank});
    }
    const RescoredCandidates rescored =
        rescore_candidates(config_.rescorer, stages_, order.query, candidates, order.stop);
    const StageTimes before_rescoring = result.times;
    static_cast<RescoreReport&>(result) = rescored.report();
    result.times += before_rescoring;
    for (const CombinedHit& combined : rescored.order) {
      SearchHit& hit = result.hits.emplace_back(before[combined.index]);
      hit.rank = static_cast<std::int64_t>(result.hits.size());
      HitOutcome outcome = rescored.outcome(combined.index);
      if (outcome.status == HitStatus::not_rescored) continue;
      outcome.first_stage_score = hit.first_stage_score;
      outcome.first_stage_rank = hit.first_stage_rank;
      static_cast<HitOutcome&>(hit) = std::move(outcome);
      hit.score = static_cast<double>(combined.score);
      if (hit.logit && hit.rank > order.offset && hit.rank <= order.offset + order.hits) {
        set_passage(rescored, combined.index, candidates[combined.index], hit);
      }
    }
  }

  void set_passage(const RescoredCandidates& rescored, std::size_t index, const Candidate& candidate,
                   SearchHit& hit) const {
    if (!config_.rescorer.find_passages || rescored.stop.due()) return;
    try {
      const StageScore& last = *rescored.last_score(index);
      const auto range = stages_[last.stage].scorer->passage(candidate, last.score, rescored.stop);
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
  return std::make_shared<ShardEngine>(urls, token, with_absolute_paths(config));
}

}  // namespace relucent::server
