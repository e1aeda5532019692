#include <LuceneHeaders.h>

#include <boost/pointer_cast.hpp>
#include <string>

#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/evaluation/topics.h"
#include "relucent/open_searcher.h"
#include "relucent/rescored_top_docs.h"
#include "relucent/text_query.h"

namespace relucent::benchmarks {

std::vector<Measurement> run(const PipelineBenchmark& settings) {
  const auto topics = index_tools::read_topics(settings.topics);
  const auto searcher = openSearcher(settings.index, settings.config);
  struct Part {
    std::string name;
    std::chrono::nanoseconds StageTimes::*time;
    std::vector<std::chrono::nanoseconds> samples = {};
  };
  Part parts[] = {{"  bm25", &StageTimes::first_stage},    {"  fetch text", &StageTimes::fetch},
                  {"  tokenize", &StageTimes::tokenize},   {"  encode", &StageTimes::encode},
                  {"  of it device", &StageTimes::device}, {"  combine", &StageTimes::combine},
                  {"  passages", &StageTimes::passages}};
  std::vector<std::chrono::nanoseconds> whole, parse, first_round, later_rounds;
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
      for (Part& part : parts) part.samples.push_back(account->times.*part.time);
      (round == 0 ? first_round : later_rounds).push_back(whole.back());
      rescored += account->rescored;
      cached += account->cached;
      degraded += account->degraded ? 1 : 0;
    }
  }
  const auto searches = static_cast<double>(whole.size());
  std::vector<Measurement> result{summarize("search", std::move(whole))};
  result.push_back(summarize("  parse", std::move(parse)));
  if (parts[0].samples.empty()) return result;
  result.front().figures = {{"rescored_per_query", rescored / searches}, {"degraded", degraded}};
  if (cached > 0) {
    result.front().figures.push_back({"cached_per_query", cached / searches});
    if (!later_rounds.empty()) {
      result.push_back(summarize("  first round", std::move(first_round)));
      result.push_back(summarize("  later rounds", std::move(later_rounds)));
    }
  }
  for (Part& part : parts) {
    if (part.time == &StageTimes::device && percentile(part.samples, 0.5).count() == 0) continue;
    result.push_back(summarize(part.name, std::move(part.samples)));
  }
  return result;
}

}  // namespace relucent::benchmarks
