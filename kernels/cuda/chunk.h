// Splits candidates into chunks for the device, and writes the tables that the kernels need. Host code.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/layout.h"
#include "kernels/pair_form.h"

namespace relucent::cuda {

/// The counts that determine a chunk's memory; also a workspace's capacity.
struct ChunkSize {
  std::size_t rows = 0, sequences = 0, tiles = 0, segments = 0;
  std::size_t documents = 0, pivots = 0, pivot_tokens = 0, pivot_tiles = 0, seen = 0;  ///< with exchanges
  std::size_t cls_tiles = 0;                                                           ///< of the tiles, the first ones

  bool fits(const ChunkSize& room) const;
  bool operator==(const ChunkSize&) const = default;
};
ChunkSize operator+(const ChunkSize& a, const ChunkSize& b);
/// The greater of each count.
ChunkSize room_for_both(const ChunkSize& a, const ChunkSize& b);

/// How an encoder's patterns shape a chunk.
struct ChunkShape {
  bool shares_query = false;    ///< all candidates share the query's rows
  bool last_sees_query = true;  ///< [CLS] in the last layer, or in each of a decoder
  bool last_sees_document = true;
  bool texts = false;  ///< by themselves: neither [CLS] nor query
  bool set = false;    ///< the candidates see each other
  /// Small chunks are filled up to one of few sizes, so that their launches are often the same.
  bool fills_up = false;
  bool decoder = false;  ///< [CLS] is a decoder's token: behind all other rows, and no row of the first stack sees it
  std::vector<std::int32_t> pivot_groups = {};   ///< with exchanges: those that the head reads
  std::vector<std::int32_t> pivot_sources = {};  ///< [groups]: the group whose tokens its pivots are made of
};

/// Consecutive candidates of a batch.
struct Chunk {
  std::size_t first = 0;  ///< candidate
  ChunkSize size;
  std::size_t first_document = 0;  ///< of PairBatch::joined

  /// Its logits, one per document, or else per candidate, and the first one's number.
  std::size_t logits() const { return size.documents > 0 ? size.documents : size.sequences; }
  std::size_t first_logit() const { return size.documents > 0 ? first_document : first; }
};

/// The most rows of a chunk that is filled up. It is the launches that take the time of such a chunk, not its rows.
inline constexpr std::size_t kMostFilledRows = 4096;

/// The tokens between the row of [CLS] and the document.
std::size_t query_tokens(const PairBatch& batch);

/// Splits the batch into chunks of about the same size that fit into `room`. What cannot be split, a candidate, the
/// passages of a document or a set, is a chunk by itself if it does not fit.
/// A size counts what a chunk is filled up with: rows, tiles and segments that no logit depends on.
std::vector<Chunk> chunks_of(const PairBatch& batch, const ChunkShape& shape, const ChunkSize& room);

/// The size of one candidate alone, without global tokens: with some it may have one tile more.
ChunkSize size_of_one(std::size_t query_tokens, std::size_t document_tokens, const ChunkShape& shape);

/// The size of an interaction; its tables have no rows.
ChunkSize size_of_interaction(std::size_t candidates, std::size_t context_tokens, std::size_t query_tokens);

inline ChunkSize tables_of_interaction(std::size_t candidates) {
  return {.sequences = candidates, .tiles = 2 * candidates};
}

/// Where a chunk's tables start in the memory that is copied to the device.
struct ChunkTables {
  ChunkTables(const ChunkSize& size, std::size_t pivot_groups);

  std::size_t tokens, sequences, tiles, segments, pivots, pivot_tokens, pivot_tiles, seen, ranges, bytes;
};

/// Writes the tables of `chunk` to `to`, ChunkTables(chunk.size).bytes of memory aligned to 16 bytes.
void write_tables(const PairBatch& batch, const ChunkShape& shape, const Chunk& chunk, std::byte* to);

/// Writes the tables of an interaction, ChunkTables(tables_of_interaction(candidates)): its rows are the
/// gated tokens of all candidates, their contexts, and the query.
void write_interaction(std::size_t candidates, std::size_t context_tokens, std::byte* to);

}  // namespace relucent::cuda
