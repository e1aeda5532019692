#pragma once

#include <filesystem>
#include <iosfwd>
#include <vector>

#include "index_tools/benchmarks/measurement.h"

namespace relucent::benchmarks {

struct Bm25Benchmark {
  std::filesystem::path index;  ///< where the generated index is kept; built on the first run
  int documents = 1'000'000;
  int queries = 200;
  int terms = 4;
  int hits = 100;
  int rounds = 5;
  /// Output for other programs unless empty: the texts and the queries, one per line, and one line per query with the
  /// number of matching documents, then document and score (the float's bits in hexadecimal) of each hit.
  std::filesystem::path write_texts, write_queries, write_hits;
};

/// Times top-k BM25 by BM25Searcher against Lucene++'s own IndexSearcher over the same generated index, query by query
/// in alternating order on one thread. A sample is one query's median time over `rounds`. Progress goes to `log`.
std::vector<Measurement> run(const Bm25Benchmark& settings, std::ostream& log);

}  // namespace relucent::benchmarks
