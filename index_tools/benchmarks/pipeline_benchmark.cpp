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
  std::vector<double> whole, parse, first_stage, fetch, tokenize, encode, device, combine;
  double rescored = 0, degraded = 0;
  // One search before: the first one loads what the index and the model load late.
  searcher->search(makeTextQuery(topics.front().title, settings.config), settings.hits);
  for (int round = 0; round < settings.rounds; ++round) {
    for (const index_tools::Topic& topic : topics) {
      Lucene::QueryPtr query;
      Lucene::TopDocsPtr hits;
      parse.push_back(time_ms([&] { query = makeTextQuery(topic.title, settings.config); }));
      whole.push_back(parse.back() + time_ms([&] { hits = searcher->search(query, settings.hits); }));
      const auto account = boost::dynamic_pointer_cast<RescoredTopDocs>(hits);
      if (!account) continue;
      first_stage.push_back(account->milliseconds.firstStage);
      fetch.push_back(account->milliseconds.fetch);
      tokenize.push_back(account->milliseconds.tokenize);
      encode.push_back(account->milliseconds.encode);
      device.push_back(account->milliseconds.device);
      combine.push_back(account->milliseconds.combine);
      rescored += account->rescored;
      degraded += account->degraded ? 1 : 0;
    }
  }
  const auto searches = static_cast<double>(whole.size());
  std::vector<Measurement> result{summarize("search", std::move(whole))};
  result.push_back(summarize("  parse", std::move(parse)));
  if (first_stage.empty()) return result;
  result.front().figures = {{"rescored_per_query", rescored / searches}, {"degraded", degraded}};
  result.push_back(summarize("  bm25", std::move(first_stage)));
  result.push_back(summarize("  fetch text", std::move(fetch)));
  result.push_back(summarize("  tokenize", std::move(tokenize)));
  result.push_back(summarize("  encode", std::move(encode)));
  if (percentile(device, 0.5) > 0) result.push_back(summarize("  of it device", std::move(device)));
  result.push_back(summarize("  combine", std::move(combine)));
  return result;
}

}  // namespace relucent::benchmarks
