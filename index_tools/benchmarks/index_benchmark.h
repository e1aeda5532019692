#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <vector>

#include "index_tools/benchmarks/measurement.h"

namespace relucent::benchmarks {

struct IndexBenchmark {
  std::int64_t documents = 200'000;
  int threads = 0;  ///< 0: one per core
  int runs = 1;
  bool stock = true;  ///< time Lucene++'s own loop too
  /// Parent folder of the generated text and the indexes, which are removed afterwards; empty: the system's temporary
  /// folder.
  std::filesystem::path folder;
};

/// Times indexing of a generated TSV file of MS MARCO's statistics, from the file to the closed index: by run_index,
/// and by a loop with Lucene++'s StandardAnalyzer and IndexWriter in their stock settings. Each run is a separate
/// process, whose peak memory is reported; the contenders take turns. Progress goes to `log`.
std::vector<Measurement> run(const IndexBenchmark& settings, std::ostream& log);

}  // namespace relucent::benchmarks
