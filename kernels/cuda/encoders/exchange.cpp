// Encoders that score documents, whose passages exchange pivots after each block. Host code.

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {
namespace {

ChunkShape shape_of(const EncoderDescription& description) {
  constexpr std::int32_t none = -1;  // of a group that is not of pivots
  ChunkShape shape;                  // pivots reach every group, so no candidates share the query
  shape.pivot_groups = description.head.groups;
  for (const TokenGroup& group : description.groups) shape.pivot_sources.push_back(group.pivots_of.value_or(none));
  return shape;
}

class Exchange final : public ChunkEncoder {
 public:
  explicit Exchange(const EncoderSource& source)
      : ChunkEncoder(EncoderKind::exchange, source, shape_of(source.description)) {
    for (std::size_t i = 0; i < source.weights.exchanges.size(); ++i) {
      const PackedExchange& from = source.weights.exchanges[i];
      PivotLayer& to = pivot_layers_.emplace_back();
      to.layer = core_.make_layer(source.description.stacks.front().exchanges[i].layer, from.layer);
      to.layer.pattern.linked = true;
      if (from.combine.weight != kAbsent) to.combine = core_.linear(hidden_, 2 * hidden_, from.combine);
    }
    head_.groups = as_int(source.description.head.groups.size());
    head_.heads = source.description.head.pivots->heads;
    head_.vectors = core_.floats_at(source.weights.pooling);
    head_.biases = core_.floats_at(source.weights.pooling_bias);
  }

  ChunkSize room_for(std::size_t rows) const override {
    // More than most documents need, and no more memory than their tokens; see BorrowedWorkspace::enlarge().
    ChunkSize room = core_.room_for(rows);
    room.documents = room.sequences;
    room.pivots = room.pivot_tiles = room.rows / 4;
    room.pivot_tokens = room.rows / 2;
    room.seen = 4 * room.rows;
    return room;
  }

  void warm_up(Workspace& w) const override {
    PairBatch batch = core_.smallest_batch();
    const std::span<const std::int32_t> zero = batch.cls.ids;
    const Pivots::Pivot pivot{.tokens = 1, .seen = 1};
    const Pivots pivots{
        .group = core_.shape().pivot_groups.front(), .pivots = {&pivot, 1}, .tokens = zero, .seen = zero};
    const DocumentPassages document{1, {&pivots, 1}};
    batch.joined = {&document, 1};
    core_.compute(*this, batch, w);
  }

  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }

 private:
  struct PivotLayer {
    Core::Layer layer;
    std::unique_ptr<Matmul> combine;  ///< null: tokens stay as they are
  };
  /// In the memory of `wide`: what the pivots' layer needs; both [tokens, 2 * hidden]: the pivots' tokens, each
  /// followed by its pivot; combined [tokens, hidden]; and the logits.
  struct PivotPlaces {
    PivotPlaces(const Exchange& e, std::byte* base, const ChunkSize& size) : layer(e.core_, base, size.pivots) {
      both = layer.end;
      combined = both + aligned(size.pivot_tokens * 2 * e.core_.row_bytes());
      logits = reinterpret_cast<float*>(combined + aligned(size.pivot_tokens * e.core_.row_bytes()));
      end = combined + aligned(size.pivot_tokens * e.core_.row_bytes()) + aligned(size.documents * sizeof(float));
    }

    Core::Places layer;
    std::byte *both, *combined, *end;
    float* logits;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override {
    const Core::Places places(core_, core_.anywhere(), size.rows);
    return static_cast<std::size_t>(std::max(places.end, PivotPlaces(*this, places.wide, size).end) - places.x);
  }

  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override {
    w.now().clock.start(w.stream);
    const Core::Places places(core_, w.activations.data(), chunk.size.rows);
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    const int rows = as_int(chunk.size.rows);
    for (std::size_t i = 0; i < core_.layers().size(); ++i) {
      core_.block(core_.layers()[i], core_.attention_of(batch, chunk, core_.layers()[i], w), rows, rows, w, places);
      // The next exchange makes pivots again that no token takes up.
      if (pivot_layers_[i].combine || i + 1 == core_.layers().size()) exchange(pivot_layers_[i], chunk, w, places);
    }
    score_pivots(chunk, w, places);
    w.now().clock.stop(w.stream);
  }

  /// What follows a block of tokens, and the head that reads the last one's pivots.
  void exchange(const PivotLayer& layer, const Chunk& chunk, Workspace& w, const Core::Places& places) const {
    const int pivots = as_int(chunk.size.pivots), tokens = as_int(chunk.size.pivot_tokens);
    if (pivots == 0) return;
    const ChunkTables tables = core_.tables_of(chunk.size);
    const PivotPlaces own(*this, places.wide, chunk.size);
    const PivotToken* const of_pivots = Core::table<PivotToken>(w, tables.pivot_tokens);
    check(gather_pivots(element_, Core::table<Pivot>(w, tables.pivots), of_pivots, pivots, places.x, hidden_,
                        own.layer.x, w.stream),
          device_, "starting the means of pivots");
    AttentionWork work{};
    work.tiles = Core::table<AttentionTile>(w, tables.pivot_tiles);
    work.tile_count = as_int(chunk.size.pivot_tiles);
    work.seen = Core::table<std::int32_t>(w, tables.seen);
    work.pattern = layer.layer.pattern;
    work.heads = core_.heads(), work.head_size = core_.head_size(), work.scale = core_.scale();
    core_.block(layer.layer, work, pivots, pivots, w, own.layer);
    if (!layer.combine) return;
    check(pair_with_pivots(element_, of_pivots, tokens, places.x, own.layer.x, hidden_, own.both, w.stream), device_,
          "pairing tokens with pivots");
    core_.run(*layer.combine, own.both, own.combined, tokens, w);
    check(put_back(element_, of_pivots, tokens, own.combined, hidden_, places.x, w.stream), device_,
          "putting back the pivots' tokens");
  }

  void score_pivots(const Chunk& chunk, Workspace& w, const Core::Places& places) const {
    const ChunkTables tables = core_.tables_of(chunk.size);
    const PivotPlaces own(*this, places.wide, chunk.size);
    PivotHeadWork work = head_;
    work.ranges = Core::table<PivotRange>(w, tables.ranges);
    work.documents = as_int(chunk.size.documents);
    check(pivot_head(element_, work, own.layer.x, hidden_, own.logits, w.stream), device_, "starting the head");
    w.stream.copy_to_host(w.now().results.data(), own.logits, chunk.size.documents * sizeof(float));
  }

  std::vector<PivotLayer> pivot_layers_;  // one per layer
  PivotHeadWork head_{};
};

}  // namespace

std::unique_ptr<const Encoder> make_exchange(const EncoderSource& source) { return std::make_unique<Exchange>(source); }

}  // namespace relucent::cuda
