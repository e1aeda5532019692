#pragma once

#include <filesystem>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/kernels/backend.h"

namespace relucent::benchmarks {

struct MixEncoderBenchmark {
  std::filesystem::path model;          ///< a MixEncoder's checkpoint folder
  std::filesystem::path cross_encoder;  ///< one of the same size to compare with; empty: none
  BackendOptions backend;
  std::vector<int> candidates = {10, 100, 1000, 10000};
  int cross_candidates = 20;  ///< of the cross-encoder, whose time per candidate hardly depends on it
  int texts = 64;             ///< encoded as at index time; their states serve all candidates
  int tokens = 174;           ///< of a pair, special tokens included; a text has as many less the query and its [SEP]
  int query_tokens = 10;      ///< word pieces of the query
  int runs = 5;
  int stored = 100000;  ///< documents of the generated file of embeddings; 0: none
};

/// Times encoding texts, a file of embeddings as it lies next to an index (in the folder for temporary files), scoring
/// stored candidates from the query's text to the scores, and the cross-encoder.
std::vector<Measurement> run(const MixEncoderBenchmark& settings);

}  // namespace relucent::benchmarks
