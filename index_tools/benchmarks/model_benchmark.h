#pragma once

#include <filesystem>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::benchmarks {

struct ModelBenchmark {
  std::filesystem::path model;  ///< checkpoint folder; empty: the bundled one
  CrossEncoderOptions options;
  int candidates = 100;
  int tokens = 174;       ///< of each whole input, special tokens included
  int query_tokens = 10;  ///< word pieces of the query
  int runs = 11;          ///< of each client
  int clients = 1;  ///< threads that score at once through the same cross-encoder, each its next query after its last
  std::filesystem::path write_pairs;  ///< where to write the texts as JSON lines for other programs; empty: nowhere
};

/// Multiply-adds times two that one such batch takes at least: the query once where the pattern allows it, the last
/// layer for [CLS] alone (keys and values of every row it sees), nothing for padding.
double operations(const EncoderDescription& description, int candidates, int query_tokens, int document_tokens);

/// Times CrossEncoder::score from text to logits, after loading and a first query, which are rows of their own; on a
/// GPU also its own time, from ids to logits.
std::vector<Measurement> run(const ModelBenchmark& settings);

}  // namespace relucent::benchmarks
