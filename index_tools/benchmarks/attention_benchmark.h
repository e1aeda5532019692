#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/kernels/backend.h"

namespace relucent::benchmarks {

struct AttentionBenchmark {
  std::filesystem::path model;  ///< a cross-encoder's folder, or empty; its heads are those of the measured layer
  BackendOptions backend;
  std::vector<int> lengths = {64, 128, 256, 512, 1024, 2048, 4096};  ///< tokens
  std::vector<std::optional<std::size_t>> windows = {std::nullopt, 64, 4};
  int candidates = 20;
  int runs = 5;
};

/// Times one layer's attention alone, without projections: the products within the window and their softmax (arXiv
/// 2312.17649, figure 2a). Throws what CrossEncoder::load and time_attention() do.
std::vector<Measurement> run(const AttentionBenchmark& settings);

}  // namespace relucent::benchmarks
