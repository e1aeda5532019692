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

  bool fits(const ChunkSize& room) const {
    return rows <= room.rows && sequences <= room.sequences && tiles <= room.tiles && segments <= room.segments;
  }
};

/// How an encoder's patterns shape a chunk.
struct ChunkShape {
  bool shares_query = false;    ///< all candidates share the query's rows
  bool last_sees_query = true;  ///< [CLS] in the last layer
  bool last_sees_document = true;
};

/// Consecutive candidates of a batch.
struct Chunk {
  std::size_t first = 0;  ///< candidate
  ChunkSize size;
};

/// Splits the batch into chunks of about the same size that fit into `room`, which must have room for any single
/// candidate.
std::vector<Chunk> chunks_of(const PairBatch& batch, const ChunkShape& shape, const ChunkSize& room);

/// The size of one candidate alone, without global tokens: with some it may have one tile more.
ChunkSize size_of_one(std::size_t query_tokens, std::size_t document_tokens, const ChunkShape& shape);

/// Where a chunk's tables start in the memory that is copied to the device.
struct ChunkTables {
  explicit ChunkTables(const ChunkSize& size);

  std::size_t tokens, sequences, tiles, segments, bytes;
};

/// Writes the tables of `chunk` to `to`, ChunkTables(chunk.size).bytes of memory aligned to 16 bytes.
void write_tables(const PairBatch& batch, const ChunkShape& shape, const Chunk& chunk, std::byte* to);

}  // namespace relucent::cuda
