// Exchanges between the passages of a document: what follows each block of tokens, and the head.
#include "kernels/cuda/places.h"

namespace relucent::cuda {

void Encoder::make_exchanges(const EncoderDescription& description, const PackedWeights& weights) {
  for (std::size_t i = 0; i < weights.exchanges.size(); ++i) {
    const PackedExchange& from = weights.exchanges[i];
    ExchangeLayer& to = exchanges_.emplace_back();
    to.layer = make_layer(description.stacks.front().exchanges[i].layer, from.layer);
    to.layer.pattern.linked = true;
    if (from.combine.weight != kAbsent) to.combine = linear(hidden_, 2 * hidden_, from.combine);
  }
  pivot_head_.groups = as_int(description.head.groups.size());
  pivot_head_.heads = description.head.pooling_heads;
  pivot_head_.vectors = floats_at(weights.pooling);
  pivot_head_.biases = floats_at(weights.pooling_bias);
}

void Encoder::exchange(const ExchangeLayer& layer, const Chunk& chunk, Workspace& w, const Places& places) const {
  const int pivots = as_int(chunk.size.pivots), tokens = as_int(chunk.size.pivot_tokens);
  if (pivots == 0) return;
  const ChunkTables tables(chunk.size, shape_.pivot_groups.size());
  const PivotPlaces own(*this, places.wide, chunk.size);
  const PivotToken* const of_pivots = table<PivotToken>(w, tables.pivot_tokens);
  check(gather_pivots(element_, table<Pivot>(w, tables.pivots), of_pivots, pivots, places.x, hidden_, own.layer.x,
                      w.stream),
        device_, "starting the means of pivots");
  AttentionWork work{};
  work.tiles = table<AttentionTile>(w, tables.pivot_tiles);
  work.tile_count = as_int(chunk.size.pivot_tiles);
  work.seen = table<std::int32_t>(w, tables.seen);
  work.pattern = layer.layer.pattern;
  work.heads = heads_, work.head_size = head_size_;
  block(layer.layer, work, pivots, pivots, w, own.layer);
  if (!layer.combine) return;
  check(pair_with_pivots(element_, of_pivots, tokens, places.x, own.layer.x, hidden_, own.both, w.stream), device_,
        "pairing tokens with pivots");
  run(*layer.combine, own.both, own.combined, tokens, w);
  check(put_back(element_, of_pivots, tokens, own.combined, hidden_, places.x, w.stream), device_,
        "putting back the pivots' tokens");
}

void Encoder::score_pivots(const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables(chunk.size, shape_.pivot_groups.size());
  const PivotPlaces own(*this, places.wide, chunk.size);
  PivotHeadWork work = pivot_head_;
  work.ranges = table<PivotRange>(w, tables.ranges);
  work.documents = as_int(chunk.size.documents);
  check(pivot_head(element_, work, own.layer.x, hidden_, own.logits, w.stream), device_, "starting the head");
  w.stream.copy_to_host(w.now().results.data(), own.logits, chunk.size.documents * sizeof(float));
}

}  // namespace relucent::cuda
