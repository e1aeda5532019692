#include "kernels/cuda/chunk.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "kernels/cuda/kernels.h"

namespace relucent::cuda {
namespace {

std::size_t pieces(std::size_t tokens, std::size_t most) { return (tokens + most - 1) / most; }

/// Tokens that [CLS] sees in the last layer.
std::size_t seen_by_cls(std::size_t query_tokens, std::size_t document_tokens, const ChunkShape& shape) {
  if (shape.texts) return 0;
  return (shape.decoder ? 0 : 1) + (shape.last_sees_query ? query_tokens : 0) +
         (shape.last_sees_document ? document_tokens : 0);
}

std::size_t tiles_of_cls(std::size_t document_tokens) {
  return static_cast<std::size_t>(cls_parts(static_cast<int>(document_tokens)));
}

/// What one candidate adds to the size of its chunk.
ChunkSize added_by(std::size_t query_tokens, std::size_t document_tokens, std::size_t globals,
                   const ChunkShape& shape) {
  const std::size_t cls = shape.texts ? 0 : 1, seen = seen_by_cls(query_tokens, document_tokens, shape);
  const std::size_t cls_tiles = shape.decoder ? 0 : cls * tiles_of_cls(document_tokens);
  const std::size_t tiles = cls_tiles + pieces(globals, kTileRows) + pieces(document_tokens - globals, kTileRows);
  ChunkSize size{cls + document_tokens, 1, tiles, pieces(seen, kSegmentSlots)};
  size.cls_tiles = cls_tiles;
  if (!shape.shares_query) size.rows += query_tokens, size.tiles += pieces(query_tokens, kTileRows);
  return size;
}

ChunkSize shared_part(std::size_t query_tokens, const ChunkShape& shape) {
  ChunkSize size;
  if (shape.shares_query) size.rows = query_tokens, size.tiles = pieces(query_tokens, kTileRows);
  return size;
}

/// The size that a chunk of this size, without pivots, is filled up to: a function of its sequences, their [CLS] tiles
/// and its rows, rounded up by at most an eighth or 64. It has room for the tiles and segments of any documents that
/// have as many rows together.
ChunkSize filled_up(ChunkSize size, std::size_t query_tokens, const ChunkShape& shape) {
  const std::size_t step = std::max<std::size_t>(kTileRows, std::bit_floor(size.rows) / 8);
  size.rows = pieces(size.rows, step) * step;
  const std::size_t queries = shape.shares_query ? 1 : size.sequences;
  // A document's own tokens and its global ones begin tiles of their own, and so do the rows that fill up.
  size.tiles = size.cls_tiles + queries * pieces(query_tokens, kTileRows) + 2 * size.sequences + 1 +
               pieces(size.rows, kTileRows);
  size.segments = pieces(size.sequences * (1 + query_tokens) + size.rows, kSegmentSlots) + size.sequences;
  return size;
}

/// Combines each count of two sizes.
template <typename Combine>
ChunkSize combined(const ChunkSize& a, const ChunkSize& b, const Combine& combine) {
  return {combine(a.rows, b.rows),
          combine(a.sequences, b.sequences),
          combine(a.tiles, b.tiles),
          combine(a.segments, b.segments),
          combine(a.documents, b.documents),
          combine(a.pivots, b.pivots),
          combine(a.pivot_tokens, b.pivot_tokens),
          combine(a.pivot_tiles, b.pivot_tiles),
          combine(a.seen, b.seen),
          combine(a.cls_tiles, b.cls_tiles)};
}

/// A group's pivots in the order of their rows: runs of those that see the same ones.
class PivotOrder {
 public:
  explicit PivotOrder(std::span<const Pivots::Pivot> pivots) : pivots_(pivots), order_(pivots.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return list(a) < list(b); });
  }

  std::size_t operator[](std::size_t row) const { return order_[row]; }
  /// Calls action(first row, end, a pivot of the run) for each run.
  template <typename Action>
  void each_run(const Action& action) const {
    for (std::size_t first = 0, end = 0; first < order_.size(); first = end) {
      while (end < order_.size() && list(order_[end]) == list(order_[first])) ++end;
      action(first, end, pivots_[order_[first]]);
    }
  }

 private:
  std::pair<std::size_t, std::size_t> list(std::size_t pivot) const {
    return {pivots_[pivot].first_seen, pivots_[pivot].seen};
  }

  std::span<const Pivots::Pivot> pivots_;
  std::vector<std::size_t> order_;
};

/// What a document's pivots add to the size of its chunk.
ChunkSize pivots_of(const DocumentPassages& document) {
  ChunkSize size{.documents = 1};
  for (const Pivots& group : document.pivots) {
    size.pivots += group.pivots.size();
    for (const Pivots::Pivot& pivot : group.pivots) size.pivot_tokens += pivot.tokens;
    PivotOrder(group.pivots).each_run([&](std::size_t first, std::size_t end, const Pivots::Pivot& pivot) {
      size.pivot_tiles += pieces(end - first, kTileRows);
      size.seen += pivot.seen;
    });
  }
  return size;
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
    ++count_;
  }
  std::size_t count() const { return count_; }
  /// Appends copies of the entry until there are `count`.
  void fill_up(const T& entry, std::size_t count) {
    while (count_ < count) (*this)(entry);
  }

 private:
  std::byte* next_;
  std::size_t count_ = 0;
};

void write_tiles(Writer<AttentionTile>& write, std::size_t row, std::size_t tokens, std::size_t sequence, Group group) {
  for (std::size_t index = 0; index < tokens; index += kTileRows) {
    write({narrow(row + index), narrow(std::min<std::size_t>(kTileRows, tokens - index)), narrow(index),
           narrow(4 * sequence) + group});
  }
}

}  // namespace

bool ChunkSize::fits(const ChunkSize& room) const {
  return rows <= room.rows && sequences <= room.sequences && tiles <= room.tiles && segments <= room.segments &&
         documents <= room.documents && pivots <= room.pivots && pivot_tokens <= room.pivot_tokens &&
         pivot_tiles <= room.pivot_tiles && seen <= room.seen;
}

ChunkSize operator+(const ChunkSize& a, const ChunkSize& b) { return combined(a, b, std::plus<std::size_t>()); }

ChunkSize room_for_both(const ChunkSize& a, const ChunkSize& b) {
  return combined(a, b, [](std::size_t x, std::size_t y) { return std::max(x, y); });
}

ChunkSize size_of_one(std::size_t query_tokens, std::size_t document_tokens, const ChunkShape& shape) {
  return shared_part(query_tokens, shape) + added_by(query_tokens, document_tokens, 0, shape);
}

ChunkSize size_of_interaction(std::size_t candidates, std::size_t context_tokens, std::size_t query_tokens) {
  return {candidates * (1 + context_tokens) + query_tokens, candidates, 2 * candidates};
}

std::size_t query_tokens(const PairBatch& batch) {
  return batch.query.tokens() + std::max<std::size_t>(batch.cls.tokens(), 1) - 1;
}

std::vector<Chunk> chunks_of(const PairBatch& batch, const ChunkShape& shape, const ChunkSize& room) {
  const std::size_t query = query_tokens(batch);
  const ChunkSize shared = shared_part(query, shape);
  // What cannot be split.
  struct Unit {
    std::size_t first;  // candidate
    ChunkSize size;
  };
  std::vector<Unit> units;
  const auto size_of = [&](std::size_t i) {
    return added_by(query, batch.documents[i].tokens(), batch.globals[i].size(), shape);
  };
  if (batch.joined.empty()) {
    for (std::size_t i = 0; i < batch.documents.size(); ++i) {
      if (units.empty() || !shape.set) units.push_back({i, {}});
      units.back().size = units.back().size + size_of(i);
    }
  }
  std::size_t next = 0;
  for (const DocumentPassages& document : batch.joined) {
    Unit& unit = units.emplace_back(Unit{next, pivots_of(document)});
    for (std::size_t i = 0; i < document.candidates; ++i) unit.size = unit.size + size_of(next++);
  }
  const auto cut = [&](const ChunkSize& most) {
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const bool starts = chunks.empty() || !(chunks.back().size + units[i].size).fits(most);
      if (starts) chunks.push_back({units[i].first, shared, i});
      chunks.back().size = chunks.back().size + units[i].size;
    }
    return chunks;
  };
  std::vector<Chunk> chunks = cut(room);
  if (chunks.size() == 1 && shape.fills_up && chunks.front().size.rows <= kMostFilledRows) {
    const ChunkSize filled = filled_up(chunks.front().size, query, shape);
    if (filled.fits(room)) chunks.front().size = filled;
  }
  if (chunks.size() < 2) return chunks;
  // Cut again into as many chunks of similar size: a small last chunk would not fill the device.
  std::size_t rows = 0, longest = 0;
  for (const Chunk& chunk : chunks) rows += chunk.size.rows;
  for (const Unit& unit : units) longest = std::max(longest, unit.size.rows);
  ChunkSize alike = room;
  alike.rows = std::min(room.rows, rows / chunks.size() + shared.rows + longest);
  return cut(alike);
}

ChunkTables::ChunkTables(const ChunkSize& size, std::size_t pivot_groups) {
  const auto after = [](std::size_t at, std::size_t length) { return (at + length + 255) / 256 * 256; };
  tokens = 0;
  sequences = after(tokens, size.rows * sizeof(Token));
  tiles = after(sequences, (size.sequences + 1) * sizeof(Sequence));
  segments = after(tiles, size.tiles * sizeof(AttentionTile));
  pivots = after(segments, size.segments * sizeof(Segment));
  pivot_tokens = after(pivots, size.pivots * sizeof(Pivot));
  pivot_tiles = after(pivot_tokens, size.pivot_tokens * sizeof(PivotToken));
  seen = after(pivot_tiles, size.pivot_tiles * sizeof(AttentionTile));
  ranges = after(seen, size.seen * sizeof(std::int32_t));
  bytes = after(ranges, size.documents * pivot_groups * sizeof(PivotRange));
}

namespace {

/// The tables of a chunk's pivots. rows_of(candidate, group): the first row of a candidate's tokens.
template <typename RowsOf>
void write_pivots(const PairBatch& batch, const ChunkShape& shape, const Chunk& chunk, const ChunkTables& tables,
                  const RowsOf& rows_of, std::byte* to) {
  Writer<Pivot> write_pivot(to + tables.pivots);
  Writer<PivotToken> write_token(to + tables.pivot_tokens);
  Writer<AttentionTile> write_tile(to + tables.pivot_tiles);
  Writer<std::int32_t> write_seen(to + tables.seen);
  Writer<PivotRange> write_range(to + tables.ranges);
  std::size_t first_candidate = 0, row = 0, tokens = 0, seen = 0;
  for (const DocumentPassages& document : batch.joined.subspan(chunk.first_document, chunk.size.documents)) {
    std::vector<PivotRange> ranges(shape.pivot_groups.size());
    for (const Pivots& group : document.pivots) {
      const PivotOrder order(group.pivots);
      std::vector<std::size_t> row_of(group.pivots.size());
      for (std::size_t i = 0; i < group.pivots.size(); ++i) {
        row_of[order[i]] = row + i;
        const Pivots::Pivot& pivot = group.pivots[order[i]];
        const std::size_t first_row =
            rows_of(first_candidate + pivot.candidate, shape.pivot_sources[static_cast<std::size_t>(group.group)]);
        write_pivot({narrow(tokens), narrow(pivot.tokens)});
        tokens += pivot.tokens;
        for (const std::int32_t token : group.tokens.subspan(pivot.first_token, pivot.tokens)) {
          write_token({narrow(first_row) + token, narrow(row + i)});
        }
      }
      order.each_run([&](std::size_t first, std::size_t end, const Pivots::Pivot& pivot) {
        for (; first < end; first += kTileRows) {
          write_tile({narrow(row + first), narrow(std::min<std::size_t>(kTileRows, end - first)), narrow(seen),
                      narrow(pivot.seen)});
        }
        for (const std::int32_t other : group.seen.subspan(pivot.first_seen, pivot.seen)) {
          write_seen(narrow(row_of[static_cast<std::size_t>(other)]));
        }
        seen += pivot.seen;
      });
      const auto known = std::find(shape.pivot_groups.begin(), shape.pivot_groups.end(), group.group);
      if (known != shape.pivot_groups.end()) {
        ranges[static_cast<std::size_t>(known - shape.pivot_groups.begin())] = {narrow(row),
                                                                                narrow(group.pivots.size())};
      }
      row += group.pivots.size();
    }
    for (const PivotRange& range : ranges) write_range(range);
    first_candidate += document.candidates;
  }
}

}  // namespace

void write_tables(const PairBatch& batch, const ChunkShape& shape, const Chunk& chunk, std::byte* to) {
  const ChunkTables tables(chunk.size, shape.pivot_groups.size());
  const std::size_t count = chunk.size.sequences, query = query_tokens(batch);
  const auto documents = std::span(batch.documents).subspan(chunk.first, count);
  const auto globals = std::span(batch.globals).subspan(chunk.first, count);
  const std::size_t clses = shape.texts ? 0 : count, queries = shape.shares_query ? 1 : count;
  const std::size_t first_query_row = shape.decoder ? 0 : clses, first_document_row = first_query_row + queries * query;

  Writer<Token> write_token(to + tables.tokens);
  const auto write_one = [&](const relucent::Segment& segment, std::size_t t) {
    write_token({segment.ids[t], segment.positions[t] | segment.type << kTypeBit});
  };
  const auto write_tokens = [&](const relucent::Segment& segment) {
    for (std::size_t t = 0; t < segment.tokens(); ++t) write_one(segment, t);
  };
  const auto write_clses = [&] {
    for (std::size_t i = 0; i < clses; ++i) write_one(batch.cls, batch.cls.tokens() - 1);
  };
  if (!shape.decoder) write_clses();
  for (std::size_t i = 0; i < queries; ++i) {
    for (std::size_t t = 0; t + 1 < batch.cls.tokens(); ++t) write_one(batch.cls, t);
    write_tokens(batch.query);
  }
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
  if (shape.decoder) write_clses();
  const std::size_t written_rows = write_token.count();
  write_token.fill_up({}, chunk.size.rows);

  Writer<Sequence> write_sequence(to + tables.sequences);
  Writer<Segment> write_segment(to + tables.segments);
  std::size_t row = first_document_row, segments = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t tokens = documents[i].tokens();
    write_sequence({narrow(first_query_row + (shape.shares_query ? 0 : i * query)), narrow(row),
                    narrow(tokens - documents[i].expansion), narrow(segments)});
    const std::size_t seen = seen_by_cls(query, tokens, shape);
    for (std::size_t slot = 0; slot < seen; slot += kSegmentSlots, ++segments) {
      write_segment({narrow(i), narrow(slot), narrow(std::min<std::size_t>(kSegmentSlots, seen - slot)), 0});
    }
    row += tokens;
  }
  write_sequence({0, 0, 0, narrow(segments)});
  write_segment.fill_up({}, chunk.size.segments);

  // [CLS] first, the documents' own tokens last: blocks whose rows see most take longest.
  Writer<AttentionTile> write_tile(to + tables.tiles);
  for (std::size_t i = 0; i < clses && !shape.decoder; ++i) {
    for (std::size_t part = 0; part < tiles_of_cls(documents[i].tokens()); ++part) {
      write_tile({narrow(i), 1, narrow(part), narrow(4 * i) + kCls});
    }
  }
  for (std::size_t i = 0; i < queries; ++i) write_tiles(write_tile, first_query_row + i * query, query, i, kQuery);
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
  // The rows that fill up count as further tokens of the last document, which nothing else sees.
  if (chunk.size.rows > written_rows) {
    write_tiles(write_tile, written_rows, chunk.size.rows - written_rows, count - 1, kDocument);
  }
  write_tile.fill_up({}, chunk.size.tiles);
  if (chunk.size.documents == 0) return;
  std::vector<std::size_t> document_rows;
  row = first_document_row;
  for (std::size_t i = 0; i < count; ++i) document_rows.push_back(std::exchange(row, row + documents[i].tokens()));
  const auto rows_of = [&](std::size_t candidate, std::int32_t group) {
    if (group == kCls) return candidate;
    return group == kQuery ? first_query_row + candidate * query : document_rows[candidate];
  };
  write_pivots(batch, shape, chunk, tables, rows_of, to);
}

void write_interaction(std::size_t candidates, std::size_t context_tokens, std::byte* to) {
  const ChunkTables tables(tables_of_interaction(candidates), 0);
  Writer<Sequence> write_sequence(to + tables.sequences);
  Writer<AttentionTile> write_tile(to + tables.tiles);
  for (std::size_t i = 0; i < candidates; ++i) {
    const std::size_t context = candidates + i * context_tokens;
    write_sequence({narrow(candidates * (1 + context_tokens)), narrow(context), narrow(context_tokens), 0});
    write_tiles(write_tile, i, 1, i, kCls);
    write_tiles(write_tile, context, context_tokens, i, kDocument);
  }
}

}  // namespace relucent::cuda
