#include "relucent/rescoring_searcher.h"

#include <Explanation.h>
#include <ScoreDoc.h>
#include <TopDocs.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/queries/query_text.h"
#include "plugin/lucene/search/rescore_weight.h"
#include "plugin/lucene/search/rescorer_implementation.h"
#include "relucent/rescore_query.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

struct QueryText {
  ModelQuery asked;
  QueryTextSource source = QueryTextSource::none;
  std::chrono::nanoseconds parse{0};
};

QueryText text_of(const Lucene::QueryPtr& query, const Config& config) {
  if (const auto rescore = find_rescore_query(query)) {
    return {{rescore->text(), {}, {}}, QueryTextSource::query, rescore->parseTime};
  }
  if (const std::string* text = QueryTextScope::current()) return {{*text, {}, {}}, QueryTextSource::scope, {}};
  QueryText result;
  for (const auto& term : terms_in_order(query, to_lucene(config.index.contents_field))) {
    result.asked.stems.push_back(to_utf8(term));
    result.source = QueryTextSource::terms;
  }
  result.asked.text = join(result.asked.stems, " ");
  // Only English stems are turned back into words.
  if (analyzer_of(config.index, config.first_stage) != AnalyzerKind::english) result.asked.stems.clear();
  return result;
}

struct Weights {
  Lucene::WeightPtr bm25;
  Lucene::QueryPtr query;
  std::optional<StopSignal> stop = {};
};

// The weight comes from our createWeight, or from another searcher that calls this one (MultiSearcher).
Weights unwrapped(const Lucene::WeightPtr& weight) {
  if (const auto ours = boost::dynamic_pointer_cast<RescoreWeight>(weight)) {
    return {ours->inner(), ours->original(), ours->stop()};
  }
  return {weight, weight->getQuery()};
}

}  // namespace

RescoringSearcher::RescoringSearcher(const Lucene::IndexReaderPtr& reader_to_search, const Config& config,
                                     std::shared_ptr<const Rescorer> rescorer)
    : BM25Searcher(reader_to_search, config.first_stage, config.index, config.log), rescorer_(std::move(rescorer)) {
  // Missing or damaged records should not wait for the first query.
  with_errors("second stage", "opening the records next to the index",
              [&] { rescorer_->implementation_->stage().require_inputs(reader_to_search); });
}

RescoringSearcher::~RescoringSearcher() {
  // Another searcher of the same reader opens them again.
  rescorer_->implementation_->opened.forget(reader);
}

const Rescorer& RescoringSearcher::rescorer() const noexcept { return *rescorer_; }

Lucene::WeightPtr RescoringSearcher::createWeight(const Lucene::QueryPtr& query) {
  return makeWeight(query, nullptr, std::nullopt);
}

Lucene::WeightPtr RescoringSearcher::makeWeight(const Lucene::QueryPtr& query, const CollectionStatistics* collection,
                                                std::optional<StopSignal> stop) {
  return Lucene::newLucene<RescoreWeight>(makeWeight(query, collection), query, std::move(stop));
}

Lucene::TopDocsPtr RescoringSearcher::search(const Lucene::WeightPtr& weight, const Lucene::FilterPtr& filter,
                                             std::int32_t n) {
  const Weights weights = unwrapped(weight);
  if (n < 1) return BM25Searcher::search(weights.bm25, filter, n);
  const auto start = Clock::now();
  const Lucene::TopDocsPtr first =
      BM25Searcher::search(weights.bm25, filter, std::max(n, rescorer_->config().rescorer.first_window()));
  const std::chrono::nanoseconds first_stage = time_since(start);

  QueryText query = text_of(weights.query, rescorer_->config());
  query.asked.stop = weights.stop;
  const RescoredTopDocsPtr answer = rescorer_->rescore(shared_from_this(), first, query.asked, n);
  answer->queryTextSource = answer->status == RescoreStatus::no_query_text ? QueryTextSource::none : query.source;
  answer->times.parse = query.parse;
  answer->times.first_stage = first_stage;
  const Log& log = rescorer_->implementation_->log;
  if (query.source == QueryTextSource::terms) {
    std::call_once(rescorer_->implementation_->logged_once.terms_are_read, [&] {
      log.warning(
          "queries carry no text, so the model reads their terms, which is less exact; parse them with "
          "RescoringQueryParser or set a QueryTextScope (logged once)");
    });
  }
  if (log.wants_debug()) {
    const StageTimes& times = answer->times;
    log.debug(fmt::format(
        "query \"{}\" (text from {}): {} hits, {} rescored, {} without text, {} truncated{}; ms: first stage {:f}, "
        "fetch {:f}, tokenize {:f}, encode {:f}, combine {:f}",
        answer->queryText, to_string(query.source), answer->totalHits, answer->rescored, answer->without_text,
        answer->truncated, answer->query_truncated ? ", the query too" : "", in_milliseconds(times.first_stage),
        in_milliseconds(times.fetch), in_milliseconds(times.tokenize), in_milliseconds(times.encode),
        in_milliseconds(times.combine)));
  }
  return answer;
}

Lucene::ExplanationPtr RescoringSearcher::explain(const Lucene::WeightPtr& weight, std::int32_t document) {
  const Weights weights = unwrapped(weight);
  const Lucene::ExplanationPtr bm25 = BM25Searcher::explain(weights.bm25, document);
  if (!bm25->isMatch()) return bm25;
  // One hit beyond the window determines how far the hits beyond it are lowered.
  const Lucene::TopDocsPtr first =
      BM25Searcher::search(weights.bm25, Lucene::FilterPtr(), rescorer_->config().rescorer.first_window() + 1);
  const bool found = std::any_of(first->scoreDocs.begin(), first->scoreDocs.end(),
                                 [&](const Lucene::ScoreDocPtr& hit) { return hit->doc == document; });
  if (!found) first->scoreDocs.add(Lucene::newLucene<Lucene::ScoreDoc>(document, bm25->getValue()));
  QueryText query = text_of(weights.query, rescorer_->config());
  query.asked.stop = weights.stop;
  return rescorer_->explain(shared_from_this(), first, bm25, query.asked, document);
}

Lucene::ExplanationPtr RescoringSearcher::explain(const Lucene::QueryPtr& query, const RescoredTopDocsPtr& found,
                                                  std::int32_t document) {
  return explain(createWeight(query), found, document);
}

Lucene::ExplanationPtr RescoringSearcher::explain(const Lucene::WeightPtr& weight, const RescoredTopDocsPtr& found,
                                                  std::int32_t document) {
  return rescorer_->explain(found, BM25Searcher::explain(unwrapped(weight).bm25, document), document);
}

}  // namespace relucent
