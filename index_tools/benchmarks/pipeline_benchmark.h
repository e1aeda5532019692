#pragma once

#include <filesystem>
#include <iosfwd>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/config.h"

namespace relucent::benchmarks {

struct PipelineBenchmark {
  std::filesystem::path index;
  std::filesystem::path topics;  ///< any topics file; every query once per round
  Config config;
  int hits = 100;
  int rounds = 1;
};

/// Times whole searches through openSearcher, and their parts as the result reports them.
std::vector<Measurement> run(const PipelineBenchmark& settings);

}  // namespace relucent::benchmarks
