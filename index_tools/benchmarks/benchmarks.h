#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "relucent/config.h"
#include "relucent/kernels/backend.h"

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

struct PipelineBenchmark {
  std::filesystem::path index;
  std::filesystem::path topics;  ///< any topics file; every query once per round
  Config config;
  int hits = 100;
  int rounds = 1;
};

/// Times whole searches through openSearcher, and their parts as the result reports them.
std::vector<Measurement> run(const PipelineBenchmark& settings);

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
