#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace relucent {

/// How to score a document that is too long: truncate cuts off its end, firstp reads only its first chunk. maxp takes
/// the greatest logit of its chunks, sump their sum, avgp their mean, topk the mean of the top_chunks greatest.
enum class LongDocuments { truncate, maxp, firstp, sump, avgp, topk };

/// The attention pattern: the checkpoint's own, or one of arXiv 2312.17649, figure 1. full: every token sees every
/// other one. longformer: the document through a window. qds: longformer with a token before each sentence that sees,
/// and is seen by, the whole document. sparse: longformer whose query sees itself alone.
/// local: every token sees a window of the whole input, as in a Longformer without global tokens.
enum class PatternChoice { checkpoint, full, local, longformer, qds, sparse };

/// Where chunks end: after a number of word pieces, or at the end of a sentence.
enum class ChunkBy { tokens, sentences };

/// Which chunks max_chunks keeps: the first and those that share most with the query, or the first ones.
enum class KeepChunks { query, first };

/// How a cross-encoder reads a query and its documents: settings that profiles and models have in common.
struct TextReading {
  std::int32_t max_length = 0;  ///< tokens of the whole input, at most the position table; 0: the checkpoint's value
  /// Word pieces of the query, without special tokens; more than fit: no limit. 0: the checkpoint's limit, if any.
  std::int32_t max_query_length = 0;
  /// What a model that is told judges by, such as Qwen3-Reranker; empty: its own instruction, if any.
  std::string instruction = {};
  /// Overrides the checkpoint's attention window: unset = keep it, -1 = unlimited, otherwise w.
  std::optional<std::int32_t> attention_window;
  /// With a pattern that has a window, an unset attention_window means the checkpoint's, or else 64, or 4
  /// (sparse).
  PatternChoice pattern = PatternChoice::checkpoint;
  LongDocuments long_documents = LongDocuments::truncate;
  /// By sentences, chunks hold whole sentences, as many as fit into `chunk` word pieces; stride does not count, and a
  /// sentence that is longer is cut. Sentences are tokenized one by one, from the text.
  ChunkBy chunk_by = ChunkBy::tokens;
  std::int32_t chunk = 225;     ///< document word pieces per chunk (all modes but truncate)
  std::int32_t stride = 200;    ///< word pieces from the start of one chunk to the start of the next
  std::int32_t max_chunks = 0;  ///< per document; 0: no limit
  KeepChunks keep_chunks = KeepChunks::query;
  std::int32_t top_chunks = 3;  ///< topk: how many; of fewer chunks it takes the mean of all

  friend bool operator==(const TextReading&, const TextReading&) = default;
};

}  // namespace relucent
