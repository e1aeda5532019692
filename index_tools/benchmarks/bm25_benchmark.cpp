#include <LuceneHeaders.h>
#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <fstream>
#include <functional>
#include <ostream>

#include "base/text.h"
#include "index_tools/benchmarks/benchmarks.h"
#include "index_tools/benchmarks/generated_collection.h"
#include "index_tools/benchmarks/generated_index.h"
#include "relucent/bm25.h"
#include "relucent/error.h"
#include "relucent/times.h"

namespace relucent::benchmarks {
namespace {

Lucene::QueryPtr disjunction(const std::vector<std::string>& words) {
  const auto query = Lucene::newLucene<Lucene::BooleanQuery>(true);
  for (const std::string& word : words) {
    const auto term = Lucene::newLucene<Lucene::Term>(L"contents", Lucene::StringUtils::toUnicode(word));
    query->add(Lucene::newLucene<Lucene::TermQuery>(term), Lucene::BooleanClause::SHOULD);
  }
  return query;
}

/// Opens the file and calls write(file), unless the name is empty.
void write_file(const std::filesystem::path& name, const std::function<void(std::ostream&)>& write) {
  if (name.empty()) return;
  std::ofstream file(name);
  if (file) write(file);
  file.close();
  if (!file) throw Error(ErrorKind::io, name.string(), "cannot be written", "check the directory and the free space");
}

void write_texts(const Bm25Benchmark& settings, std::ostream& file) {
  GeneratedCollection collection;
  for (int i = 0; i < settings.documents; ++i) file << collection.next_document() << '\n';
}

void write_hits(const Lucene::TopDocsPtr& hits, std::ostream& file) {
  file << std::dec << hits->totalHits;
  for (const auto& hit : hits->scoreDocs) {
    file << ' ' << std::dec << hit->doc << ' ' << std::hex
         << std::bit_cast<std::uint32_t>(static_cast<float>(hit->score));
  }
  file << '\n';
}

}  // namespace

std::vector<Measurement> run(const Bm25Benchmark& settings, std::ostream& log) {
  keep_generated_index({settings.index, settings.documents}, log);
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(settings.index.wstring()), true);
  const auto ours = Lucene::newLucene<BM25Searcher>(reader, FirstStageConfig{}, IndexConfig{});
  FirstStageConfig counting;
  counting.count = kCountOfPrograms;
  const auto skipping = Lucene::newLucene<BM25Searcher>(reader, counting, IndexConfig{});
  const auto stock = Lucene::newLucene<Lucene::IndexSearcher>(reader);

  GeneratedCollection collection(2);
  std::vector<std::vector<std::string>> queries;
  for (int i = 0; i < settings.queries; ++i) queries.push_back(collection.next_query(settings.terms));
  write_file(settings.write_texts, [&](std::ostream& file) { write_texts(settings, file); });
  write_file(settings.write_queries, [&](std::ostream& file) {
    for (const auto& words : queries) file << join(words, " ") << '\n';
  });
  write_file(settings.write_hits, [&](std::ostream& file) {
    for (const auto& words : queries) {
      write_hits(boost::static_pointer_cast<Lucene::Searcher>(ours)->search(disjunction(words), settings.hits), file);
    }
  });

  std::vector<std::chrono::nanoseconds> our_times, skipping_times, stock_times;
  double postings = 0;
  for (int i = 0; i < settings.queries; ++i) {
    const auto& words = queries[static_cast<std::size_t>(i)];
    const auto query = disjunction(words);
    for (const std::string& word : words) {
      postings += reader->docFreq(Lucene::newLucene<Lucene::Term>(L"contents", Lucene::StringUtils::toUnicode(word)));
    }
    std::vector<std::chrono::nanoseconds> a, b, c;
    for (int round = 0; round < settings.rounds; ++round) {
      const auto time = [&](const Lucene::IndexSearcherPtr& searcher, std::vector<std::chrono::nanoseconds>& samples) {
        Lucene::TopDocsPtr hits;
        samples.push_back(time_of([&] { hits = searcher->search(query, settings.hits); }));
        if (hits->totalHits < hits->scoreDocs.size()) {
          throw Error(ErrorKind::internal, {}, "a search returned more hits than it counted");
        }
      };
      if ((i + round) % 2 == 0) {
        time(ours, a);
        time(skipping, c);
        time(stock, b);
      } else {
        time(stock, b);
        time(skipping, c);
        time(ours, a);
      }
    }
    our_times.push_back(summarize("", a).median);
    skipping_times.push_back(summarize("", c).median);
    stock_times.push_back(summarize("", b).median);
  }
  Measurement mine = summarize("bm25 relucent", our_times),
              skipped = summarize(fmt::format("bm25 relucent, count {}", kCountOfPrograms), skipping_times),
              theirs = summarize("bm25 lucene++ own scoring", stock_times);
  const double a_query = postings / settings.queries;
  mine.figures = {{"documents", settings.documents},
                  {"postings_per_query", a_query},
                  {"ratio", in_milliseconds(theirs.median) / in_milliseconds(mine.median)}};
  skipped.figures = mine.figures;
  skipped.figures.back().second = in_milliseconds(theirs.median) / in_milliseconds(skipped.median);
  theirs.figures = {{"documents", settings.documents}, {"postings_per_query", a_query}};
  return {mine, skipped, theirs};
}

}  // namespace relucent::benchmarks
