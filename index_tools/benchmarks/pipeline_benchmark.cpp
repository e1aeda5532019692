#include "index_tools/benchmarks/pipeline_benchmark.h"

#include <LuceneHeaders.h>

#include <boost/pointer_cast.hpp>
#include <string>

#include "index_tools/evaluation/topics.h"
#include "relucent/open_searcher.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/text_query.h"

namespace relucent::benchmarks {

std::vector<Measurement> run(const PipelineBenchmark& settings) {
  const auto topics = index_tools::read_topics(settings.topics);
  const auto searcher = openSearcher(settings.index, settings.config);
  // Whole searches, and their parts as RescoredTopDocs reports them.
  std::vector<std::chrono::nanoseconds> whole, parse, first_stage, fetch, tokenize, encode, device, combine, passages;
  std::vector<std::chrono::nanoseconds> first_round, later_rounds;
  double rescored = 0, cached = 0, degraded = 0;
  // One warm-up search, because index and model load lazily.
  searcher->search(makeTextQuery(topics.front().title, settings.config), settings.hits);
  for (int round = 0; round < settings.rounds; ++round) {
    for (const index_tools::Topic& topic : topics) {
      Lucene::QueryPtr query;
      Lucene::TopDocsPtr hits;
      parse.push_back(time_of([&] { query = makeTextQuery(topic.title, settings.config); }));
      whole.push_back(parse.back() + time_of([&] { hits = searcher->search(query, settings.hits); }));
      const auto account = boost::dynamic_pointer_cast<RescoredTopDocs>(hits);
      if (!account) continue;
      first_stage.push_back(account->times.first_stage);
      fetch.push_back(account->times.fetch);
      tokenize.push_back(account->times.tokenize);
      encode.push_back(account->times.encode);
      device.push_back(account->times.device);
      combine.push_back(account->times.combine);
      passages.push_back(account->times.passages);
      (round == 0 ? first_round : later_rounds).push_back(whole.back());
      rescored += account->rescored;
      cached += account->cached;
      degraded += account->degraded ? 1 : 0;
    }
  }
  const auto searches = static_cast<double>(whole.size());
  std::vector<Measurement> result{summarize("search", std::move(whole))};
  result.push_back(summarize("  parse", std::move(parse)));
  if (first_stage.empty()) return result;
  result.front().figures = {{"rescored_per_query", rescored / searches}, {"degraded", degraded}};
  if (cached > 0) {
    result.front().figures.push_back({"cached_per_query", cached / searches});
    if (!later_rounds.empty()) {
      result.push_back(summarize("  first round", std::move(first_round)));
      result.push_back(summarize("  later rounds", std::move(later_rounds)));
    }
  }
  result.push_back(summarize("  bm25", std::move(first_stage)));
  result.push_back(summarize("  fetch text", std::move(fetch)));
  result.push_back(summarize("  tokenize", std::move(tokenize)));
  result.push_back(summarize("  encode", std::move(encode)));
  if (percentile(device, 0.5).count() > 0) result.push_back(summarize("  of it device", std::move(device)));
  result.push_back(summarize("  combine", std::move(combine)));
  result.push_back(summarize("  passages", std::move(passages)));
  return result;
}

}  // namespace relucent::benchmarks
