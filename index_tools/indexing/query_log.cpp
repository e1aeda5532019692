#include "index_tools/indexing/query_log.h"

#include <LuceneHeaders.h>

#include <algorithm>
#include <utility>

#include "index_tools/indexing/ordered_jobs.h"
#include "index_tools/indexing/progress.h"
#include "plugin/lucene/analysis/analyzer_places.h"
#include "plugin/lucene/errors.h"
#include "relucent/bm25.h"
#include "relucent/text_query.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kQueriesPerPiece = 32;
constexpr const char* kActivity = "searching for the log's queries";

}  // namespace

QueryLogWeights search_query_log(const GraphNotesJob& job, const Lucene::IndexReaderPtr& reader, const Config& config,
                                 const std::string& place, int threads, bool quiet, const StopSignal& stop) {
  struct Found {
    std::vector<std::string> terms;
    std::vector<std::int64_t> hits;
  };
  const auto searcher = Lucene::newLucene<BM25Searcher>(reader, config.first_stage, config.index, config.log);
  const std::size_t queries = job.log_queries.size();
  const auto search = [&](std::size_t piece) {
    return with_errors(place, kActivity, [&] {
      std::vector<Found> found;
      const std::size_t end = std::min(queries, (piece + 1) * kQueriesPerPiece);
      for (std::size_t i = piece * kQueriesPerPiece; i < end; ++i) {
        stop.throw_if_due(kActivity);
        Found& one = found.emplace_back();
        for (TermPlace& term : term_places(config.first_stage, job.log_queries[i])) {
          one.terms.push_back(std::move(term.term));
        }
        if (one.terms.empty()) continue;
        const auto query = makeTextQuery(job.log_queries[i], config);
        const Lucene::TopDocsPtr hits = searcher->search(query->inner(), job.log_hits);
        for (const auto& hit : hits->scoreDocs) one.hits.push_back(hit->doc);
      }
      return found;
    });
  };
  QueryLogWeights log;
  Progress progress("searching", Progress::Unit::documents, static_cast<std::int64_t>(queries), quiet);
  const std::size_t pieces = (queries + kQueriesPerPiece - 1) / kQueriesPerPiece;
  OrderedJobs<std::vector<Found>> jobs(pieces, threads, search);
  std::int64_t done = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    for (Found& one : jobs.next([&] { stop.throw_if_due(kActivity); })) {
      log.add_query(std::move(one.terms), one.hits);
      progress.update(0, ++done);
    }
  }
  return log;
}

}  // namespace relucent::index_tools
