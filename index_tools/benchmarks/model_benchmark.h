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
  int tokens = 174;       ///< per input, special tokens included
  int query_tokens = 10;  ///< word pieces of the query
  int runs = 11;          ///< per client
  int clients = 1;        ///< threads that score concurrently with the same cross-encoder, each one query after another
  std::filesystem::path write_pairs;  ///< output file of the texts as JSON lines for other programs; empty: none
};

/// Twice the minimum number of multiply-adds for one such batch: what its plan needs, and nothing for padding.
/// `sentences`: the tokens before sentences, of the QDS pattern, which are not among `document_tokens`.
double operations(const EncoderDescription& description, int candidates, int query_tokens, int document_tokens,
                  int sentences = 0);

/// Times CrossEncoder::score from text to logits, after loading and a first query, which have separate rows; on a GPU
/// also the GPU's own time, from ids to logits.
std::vector<Measurement> run(const ModelBenchmark& settings);

}  // namespace relucent::benchmarks
