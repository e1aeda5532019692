#include "kernels/cuda/chunk.h"

#include <algorithm>
#include <new>

namespace relucent::cuda {
namespace {

std::size_t pieces(std::size_t tokens, std::size_t most) { return (tokens + most - 1) / most; }

/// What one candidate adds to the size of its chunk.
ChunkSize added_by(std::size_t query_tokens, std::size_t document_tokens, std::size_t globals,
                   const ChunkShape& shape) {
  const std::size_t seen =
      1 + (shape.last_sees_query ? query_tokens : 0) + (shape.last_sees_document ? document_tokens : 0);
  const std::size_t tiles = 1 + pieces(globals, kTileRows) + pieces(document_tokens - globals, kTileRows);
  ChunkSize size{1 + document_tokens, 1, tiles, pieces(seen, kSegmentSlots)};
  if (!shape.shares_query) size.rows += query_tokens, size.tiles += pieces(query_tokens, kTileRows);
  return size;
}

ChunkSize shared_part(std::size_t query_tokens, const ChunkShape& shape) {
  ChunkSize size;
  if (shape.shares_query) size.rows = query_tokens, size.tiles = pieces(query_tokens, kTileRows);
  return size;
}

ChunkSize operator+(const ChunkSize& a, const ChunkSize& b) {
  return {a.rows + b.rows, a.sequences + b.sequences, a.tiles + b.tiles, a.segments + b.segments};
}

std::int32_t narrow(std::size_t value) { return static_cast<std::int32_t>(value); }

/// A table's entries, one after another.
template <typename T>
class Writer {
 public:
  explicit Writer(std::byte* to) : next_(to) {}
  void operator()(const T& entry) {
    new (next_) T(entry);
    next_ += sizeof(T);
  }

 private:
  std::byte* next_;
};

void write_tiles(Writer<AttentionTile>& write, std::size_t row, std::size_t tokens, std::size_t sequence, Group group) {
  for (std::size_t index = 0; index < tokens; index += kTileRows) {
    write({narrow(row + index), narrow(std::min<std::size_t>(kTileRows, tokens - index)), narrow(index),
           narrow(4 * sequence) + group});
  }
}

}  // namespace

ChunkSize size_of_one(std::size_t query_tokens, std::size_t document_tokens, const ChunkShape& shape) {
  return shared_part(query_tokens, shape) + added_by(query_tokens, document_tokens, 0, shape);
}

std::vector<Chunk> chunks_of(const PairBatch& batch, const ChunkShape& shape, const ChunkSize& room) {
  const ChunkSize shared = shared_part(batch.query.tokens(), shape);
  const auto cut = [&](const ChunkSize& most) {
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < batch.documents.size(); ++i) {
      const ChunkSize added =
          added_by(batch.query.tokens(), batch.documents[i].tokens(), batch.globals[i].size(), shape);
      const bool starts = chunks.empty() || !(chunks.back().size + added).fits(most);
      if (starts) chunks.push_back({i, shared});
      chunks.back().size = chunks.back().size + added;
    }
    return chunks;
  };
  std::vector<Chunk> chunks = cut(room);
  if (chunks.size() < 2) return chunks;
  // Cut again into as many chunks of similar size: a small last chunk would not fill the device.
  std::size_t rows = 0, longest = 0;
  for (const Chunk& chunk : chunks) rows += chunk.size.rows;
  for (const relucent::Segment& document : batch.documents) longest = std::max(longest, document.tokens());
  ChunkSize alike = room;
  alike.rows = std::min(room.rows, rows / chunks.size() + batch.query.tokens() + 1 + longest);
  return cut(alike);
}

ChunkTables::ChunkTables(const ChunkSize& size) {
  const auto after = [](std::size_t at, std::size_t length) { return (at + length + 255) / 256 * 256; };
  tokens = 0;
  sequences = after(tokens, size.rows * sizeof(Token));
  tiles = after(sequences, (size.sequences + 1) * sizeof(Sequence));
  segments = after(tiles, size.tiles * sizeof(AttentionTile));
  bytes = after(segments, size.segments * sizeof(Segment));
}

void write_tables(const PairBatch& batch, const ChunkShape& shape, const Chunk& chunk, std::byte* to) {
  const ChunkTables tables(chunk.size);
  const std::size_t count = chunk.size.sequences, query = batch.query.tokens();
  const auto documents = std::span(batch.documents).subspan(chunk.first, count);
  const auto globals = std::span(batch.globals).subspan(chunk.first, count);
  const std::size_t queries = shape.shares_query ? 1 : count;
  const std::size_t first_document_row = count + queries * query;

  Writer<Token> write_token(to + tables.tokens);
  const auto write_one = [&](const relucent::Segment& segment, std::size_t t) {
    write_token({segment.ids[t], segment.positions[t] | segment.type << kTypeBit});
  };
  const auto write_tokens = [&](const relucent::Segment& segment) {
    for (std::size_t t = 0; t < segment.tokens(); ++t) write_one(segment, t);
  };
  for (std::size_t i = 0; i < count; ++i) write_tokens(batch.cls);
  for (std::size_t i = 0; i < queries; ++i) write_tokens(batch.query);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::size_t place : globals[i]) write_one(documents[i], place);
    auto next = globals[i].begin();
    for (std::size_t t = 0; t < documents[i].tokens(); ++t) {
      if (next != globals[i].end() && *next == t) {
        ++next;
      } else {
        write_one(documents[i], t);
      }
    }
  }

  Writer<Sequence> write_sequence(to + tables.sequences);
  Writer<Segment> write_segment(to + tables.segments);
  std::size_t row = first_document_row, segments = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t tokens = documents[i].tokens();
    write_sequence(
        {narrow(count + (shape.shares_query ? 0 : i * query)), narrow(row), narrow(tokens), narrow(segments)});
    const std::size_t seen = 1 + (shape.last_sees_query ? query : 0) + (shape.last_sees_document ? tokens : 0);
    for (std::size_t slot = 0; slot < seen; slot += kSegmentSlots, ++segments) {
      write_segment({narrow(i), narrow(slot), narrow(std::min<std::size_t>(kSegmentSlots, seen - slot)), 0});
    }
    row += tokens;
  }
  write_sequence({0, 0, 0, narrow(segments)});

  // [CLS] first, the documents' own tokens last: blocks whose rows see most take longest.
  Writer<AttentionTile> write_tile(to + tables.tiles);
  for (std::size_t i = 0; i < count; ++i) write_tiles(write_tile, i, 1, i, kCls);
  for (std::size_t i = 0; i < queries; ++i) write_tiles(write_tile, count + i * query, query, i, kQuery);
  row = first_document_row;
  for (std::size_t i = 0; i < count; ++i) {
    write_tiles(write_tile, row, globals[i].size(), i, kGlobal);
    row += documents[i].tokens();
  }
  row = first_document_row;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = globals[i].size();
    write_tiles(write_tile, row + before, documents[i].tokens() - before, i, kDocument);
    row += documents[i].tokens();
  }
}

}  // namespace relucent::cuda
