#pragma once

#include <filesystem>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/kernels/backend.h"

namespace relucent::benchmarks {

struct LateInteractionBenchmark {
  std::filesystem::path model;  ///< the folder of a checkpoint of late interaction, or of a Deformer
  BackendOptions backend;
  std::vector<int> candidates = {100, 1000};
  int texts = 64;         ///< encoded as at index time; their vectors serve all candidates
  int tokens = 180;       ///< of a text, special tokens included
  int query_tokens = 10;  ///< word pieces of the query
  int runs = 5;
  std::filesystem::path write_texts;  ///< JSON lines of the texts, for other programs; empty: none
};

/// Times encoding texts, and scoring candidates whose vectors, or a Deformer's states, are stored in each precision,
/// from the query's text to the scores.
std::vector<Measurement> run(const LateInteractionBenchmark& settings);

}  // namespace relucent::benchmarks
