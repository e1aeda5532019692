// The only file of the package that includes Lucene++.
#include "python/native/index_searcher.h"

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Document.h>
#include <LuceneException.h>
#include <MapFieldSelector.h>

#include <algorithm>
#include <chrono>

#include "python/native/jobs.h"
#include "relucent/bm25.h"
#include "relucent/english_analyzer.h"
#include "relucent/error.h"
#include "relucent/open_searcher.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/stop_scope.h"
#include "relucent/stored_text.h"
#include "relucent/text_query.h"

namespace relucent::python {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kBlanks = " \t\r\n\f\v";

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlanks) == std::string_view::npos; }

const char* name_of(RescoredHit::Status status) {
  switch (status) {
    case RescoredHit::Status::rescored: return "rescored";
    case RescoredHit::Status::without_text: return "without_text";
    case RescoredHit::Status::beyond_window: return "beyond_window";
    case RescoredHit::Status::not_rescored: return "not_rescored";
  }
  return "not_rescored";
}

template <typename Work>
auto with_errors(ErrorKind kind, const std::string& place, const std::string& operation, const char* hint,
                 const Work& work) {
  try {
    return work();
  } catch (const Lucene::LuceneException& error) {
    throw Error(kind, place, operation + " failed: " + to_utf8(const_cast<Lucene::LuceneException&>(error).getError()),
                hint);
  }
}

void describe_outcome(const Lucene::TopDocsPtr& found, SearchResult& result) {
  result.total_hits = found->totalHits;
  const auto rescored = boost::dynamic_pointer_cast<RescoredTopDocs>(found);
  if (!rescored) return;
  result.status = to_string(rescored->status);
  result.degraded = rescored->degraded;
  result.reason = rescored->reason;
  result.rescored = rescored->rescored;
  result.without_text = rescored->withoutText;
  result.truncated = rescored->truncated;
  result.query_truncated = rescored->queryTruncated;
  const std::chrono::nanoseconds parse = result.times.parse;
  result.times = rescored->times;
  result.times.parse = parse;
}

}  // namespace

struct IndexSearcher::Implementation {
  std::string index;
  Config config;
  QuerySyntax syntax;
  Lucene::IndexSearcherPtr searcher;

  RescoreQueryPtr parse(std::string_view text) const {
    if (syntax == QuerySyntax::words) return makeTextQuery(text, config);
    return with_errors(ErrorKind::usage, "query", "parsing", "escape special characters with \\, or leave out syntax",
                       [&] {
                         RescoringQueryParser parser(config);
                         return boost::dynamic_pointer_cast<RescoreQuery>(parser.parse(to_lucene(text)));
                       });
  }

  Lucene::DocumentPtr document(std::int32_t number, bool texts) const {
    auto wanted = Lucene::newCollection<Lucene::String>(to_lucene(config.index.id_field));
    if (texts) {
      for (const std::string& field : config.index.fields_read()) wanted.add(to_lucene(field));
    }
    return searcher->doc(number, Lucene::newLucene<Lucene::MapFieldSelector>(wanted));
  }

  /// The fields with text, joined as for the model.
  std::string text_of(const Lucene::DocumentPtr& document) const {
    std::string all;
    for (const std::string& field : config.index.fields_read()) {
      const std::string text = stored_text(document, field).value_or("");
      if (is_blank(text)) continue;
      if (!all.empty()) all += ' ';
      all += text;
    }
    return all;
  }

  Hit hit_of(const Lucene::ScoreDocPtr& found, std::int64_t rank, bool texts) const {
    Hit hit;
    hit.rank = hit.first_stage_rank = rank;
    hit.score = hit.first_stage_score = found->score;
    hit.status = "not_rescored";
    if (const auto rescored = boost::dynamic_pointer_cast<RescoredHit>(found)) {
      hit.first_stage_rank = rescored->firstStageRank;
      hit.first_stage_score = rescored->firstStageScore;
      hit.status = name_of(rescored->status);
      hit.logit = rescored->logit;
      hit.stage_logits = rescored->stageLogits;
      hit.truncated = rescored->truncated;
      if (const auto& passage = rescored->passage) {
        hit.passage = {passage->field, passage->bytes.begin, passage->bytes.end};
      }
    }
    const Lucene::DocumentPtr fields = document(found->doc, texts);
    hit.id = first_stored_text(fields, config.index.id_field).value_or("");
    if (hit.id.empty()) {
      throw Error(ErrorKind::usage, index,
                  "document " + std::to_string(found->doc) + " has no stored field \"" + config.index.id_field + "\"",
                  "set id_field in the section \"index\" to the stored field that holds the documents' ids");
    }
    if (!texts) return hit;
    hit.text = text_of(fields);
    if (hit.passage) {
      const std::string field = stored_text(fields, hit.passage->field).value_or("");
      hit.passage->text = field.substr(std::min(hit.passage->begin, field.size()),
                                       hit.passage->end - std::min(hit.passage->begin, hit.passage->end));
    }
    return hit;
  }
};

IndexSearcher::IndexSearcher(const std::filesystem::path& index, const Config& config, QuerySyntax syntax)
    : implementation_(std::make_unique<Implementation>()) {
  auto& self = *implementation_;
  self.index = index.empty() ? config.index.path : index.string();
  self.config = config;
  self.syntax = syntax;
  self.searcher = with_errors(ErrorKind::invalid_data, self.index, "opening", "check it with `relucent verify`",
                              [&] { return openSearcher(index, config); });
}

IndexSearcher::~IndexSearcher() = default;

SearchResult IndexSearcher::search(std::string_view query, std::int32_t n, bool texts,
                                   const std::stop_token& stop) const {
  const auto& self = *implementation_;
  if (is_blank(query)) throw Error(ErrorKind::usage, "query", "is empty", "say what to search for");
  const auto started = Clock::now();
  SearchResult result;
  result.query = query;
  const RescoreQueryPtr parsed = self.parse(query);
  result.times.parse = time_since(started);
  with_errors(ErrorKind::io, self.index, "searching", "check the index with `relucent verify`", [&] {
    StopSignal signal;
    signal.stop = stop;
    const StopScope scope(signal);
    const auto searching = Clock::now();
    const Lucene::TopDocsPtr found = self.searcher->search(parsed, n);
    result.times.first_stage = time_since(searching);
    describe_outcome(found, result);
    std::int64_t rank = 0;
    for (const auto& hit : found->scoreDocs) {
      signal.throw_if_due("reading the stored fields");
      result.hits.push_back(self.hit_of(hit, ++rank, texts));
    }
  });
  result.total = time_since(started);
  return result;
}

std::vector<SearchResult> IndexSearcher::search_all(std::span<const std::string_view> queries, std::int32_t n,
                                                    bool texts, int jobs, const std::stop_token& stop) const {
  std::vector<SearchResult> results(queries.size());
  run_jobs(queries.size(), jobs, stop,
           [&](std::size_t i, const StopSignal& signal) { results[i] = search(queries[i], n, texts, signal.stop); });
  return results;
}

std::string IndexSearcher::describe() const {
  const auto searcher = boost::dynamic_pointer_cast<RescoringSearcher>(implementation_->searcher);
  if (!searcher) return {};
  std::string lines;
  for (const RescoringStage& stage : searcher->rescorer().stages()) {
    if (!lines.empty()) lines += '\n';
    lines += stage.scorer->describe();
  }
  return lines;
}

std::vector<std::string> IndexSearcher::notices() const {
  std::vector<std::string> notices;
  if (const auto bm25 = boost::dynamic_pointer_cast<BM25Searcher>(implementation_->searcher)) {
    notices.push_back(bm25->notice());
  }
  if (const auto searcher = boost::dynamic_pointer_cast<RescoringSearcher>(implementation_->searcher)) {
    for (const RescoringStage& stage : searcher->rescorer().stages()) notices.push_back(stage.scorer->warning());
  }
  std::erase(notices, "");
  return notices;
}

}  // namespace relucent::python
