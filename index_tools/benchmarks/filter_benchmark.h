#pragma once

#include <filesystem>
#include <iosfwd>
#include <vector>

#include "index_tools/benchmarks/measurement.h"

namespace relucent::benchmarks {

struct FilterBenchmark {
  std::filesystem::path index;  ///< where the generated index is kept; built on the first run
  int documents = 1'000'000;
  int queries = 50;
  int terms = 4;
  int hits = 100;
  int rounds = 5;
};

/// Times first-stage searches by SearchSession with filters of keywords and of numbers, on later pages, with facets and
/// over two fields, against the same search without any of them, query by query in turns on one thread. A sample is one
/// query's median time over `rounds`. Progress goes to `log`.
std::vector<Measurement> run(const FilterBenchmark& settings, std::ostream& log);

}  // namespace relucent::benchmarks
