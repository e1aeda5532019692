#include "kernels/cuda/encoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/cuda/places.h"

namespace relucent::cuda {
namespace {

// For [CLS] alone there are as many rows as candidates.
constexpr int kUsualCandidates = 128;

constexpr std::int32_t kNoSource = -1;  // of a group that is not of pivots

Pattern pattern_of(const Views& views, bool globals, int longest) {
  Pattern pattern{};
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      pattern.windows[3 * from + to] = -1;
      if (views[from].size() <= to) continue;
      const View& view = views[from][to];
      const bool window = view.kind == View::Kind::window && view.window < longest;
      if (view.kind != View::Kind::none) pattern.sees |= 1U << (3 * from + to);
      pattern.windows[3 * from + to] = window ? view.window : -1;
      const bool own = from == to && from != kQuery;  // a [CLS] alone is in any window of its own
      pattern.by_position = pattern.by_position || (window && !own);
    }
  }
  pattern.window = pattern.windows[3 * kDocument + kDocument];
  pattern.globals = globals;
  return pattern;
}

std::array<bool, 4> pooled_groups(const Head& head) {
  std::array<bool, 4> groups{};
  if (head.pooling_heads > 0) return groups;
  for (const std::int32_t group : head.groups) groups[static_cast<std::size_t>(group)] = true;
  return groups;
}

ChunkShape shape_of(const EncoderDescription& description, const PairForm& form) {
  ChunkShape shape;
  shape.texts = has_interaction(description);
  if (shape.texts) return shape;
  const bool exchanges = !description.stacks.front().exchanges.empty();
  shape.shares_query = form.shares_query && !exchanges;  // pivots reach every group
  if (exchanges) shape.pivot_groups = description.head.groups;
  for (const TokenGroup& group : description.groups) shape.pivot_sources.push_back(group.pivots_of.value_or(kNoSource));
  shape.last_sees_query = form.patterns.back().cls_query;
  shape.last_sees_document = form.patterns.back().cls_document;
  return shape;
}

}  // namespace

ChunkBuffers::ChunkBuffers(int device, const WorkspaceBytes& bytes)
    : tables_on_host(device, bytes.tables),
      tables(device, bytes.tables, "tables of a batch"),
      states(device, bytes.states),
      results(device, bytes.results),
      clock(device) {}

Workspace::Workspace(int device, const ChunkSize& chunk_room, const WorkspaceBytes& bytes)
    : room(chunk_room),
      stream(device),
      activations(device, bytes.activations, "activations"),
      products(device, bytes.products, "products"),
      buffers{{{device, bytes}, {device, bytes}}} {}

Encoder::Encoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
    : pairs_(description),
      device_(device),
      norm_epsilon_(description.norm_epsilon),
      hidden_(description.hidden_size),
      embedding_(description.embedding_size),
      heads_(as_int(pairs_.heads)),
      head_size_(as_int(pairs_.head_size)),
      intermediate_(weights.intermediate_size),
      wide_(intermediate_),
      element_(weights.element),
      tf32_(tf32),
      norms_before_(description.stacks.front().layers.front().feed_forward.norm == NormPlacement::before),
      last_is_short_(pairs_.last_is_short),
      head_groups_(pooled_groups(description.head)),
      shape_(shape_of(description, pairs_)),
      weights_(device, weights.bytes.size(), "the model's weights"),
      library_(device),
      tables_{at(weights.word), at(weights.position), at(weights.type)},
      embedding_norm_(norm_at(weights.embedding_norm)),
      first_norm_(norm_at(weights.first_norm)),
      head_{floats_at(weights.head_dense.bias), description.head.activation,    norm_at(weights.head_norm),
            description.head.outputs,           floats_at(weights.head_output), floats_at(weights.head_output_bias)},
      longest_(longest_input(description)),
      head_pooling_(description.head.pooling) {
  // On a stream, then wait for it: a plain cudaMemcpy may still be running when our own streams start.
  Stream upload(device);
  upload.copy_to_device(weights_.data(), weights.bytes.data(), weights.bytes.size());
  upload.wait();
  if (embedding_ != hidden_) embedding_projection_ = linear(hidden_, embedding_, weights.embedding_projection);
  const bool globals =
      description.groups.size() == kGlobal + 1 && !shape_.texts && shape_.pivot_sources.back() == kNoSource;
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const relucent::Layer& described = description.stacks.front().layers[i];
    Layer layer = make_layer(described, weights.layers[i]);
    layer.pattern = pattern_of(described.attentions.front().views, globals, longest_);
    layers_.push_back(std::move(layer));
  }

  if (last_is_short_) make_last_layer(weights);
  if (shape_.texts) make_interaction(description, weights);
  make_exchanges(description, weights);
  if (!description.head.dense || description.head.pooling_heads > 0) return;
  MatmulForm dense = form(hidden_, hidden_, weights.head_dense.weight);
  dense.float_result = true;
  dense.usual_rows = kUsualCandidates;
  head_dense_ = std::make_unique<Matmul>(library_, dense);
}

Encoder::Layer Encoder::make_layer(const relucent::Layer& described, const PackedLayer& from) {
  Layer layer;
  layer.activation = described.feed_forward.activation, layer.gated = described.feed_forward.gated;
  if (layer.gated) wide_ = 2 * intermediate_;
  layer.qkv = linear(3 * hidden_, hidden_, from.qkv);
  layer.attention_output = linear(hidden_, hidden_, from.attention_output);
  layer.intermediate = intermediate(layer, from.intermediate);
  layer.output = output(layer, from.output);
  layer.attention_norm = norm_at(from.attention_norm);
  layer.output_norm = norm_at(from.output_norm);
  layer.turns = floats_at(from.turns);
  layer.norm_before = described.attentions.front().norm == NormPlacement::before;
  return layer;
}

void Encoder::make_last_layer(const PackedWeights& weights) {
  const PackedLayer& final = weights.layers.back();
  const PackedLinear& qkv = final.qkv;
  const std::size_t square = static_cast<std::size_t>(hidden_) * static_cast<std::size_t>(hidden_) * size_of(element_);
  last_.query = linear(hidden_, hidden_, qkv, kUsualCandidates);
  last_.attention_output =
      linear(hidden_, hidden_, {final.attention_output.weight, weights.last_output_bias}, kUsualCandidates);
  last_.intermediate = intermediate(layers_.back(), final.intermediate, kUsualCandidates);
  last_.output = output(layers_.back(), final.output, kUsualCandidates);

  // absorbed[s, head] = W_K of the head, [head_size, hidden], transposed, times q[s] of the head.
  MatmulForm key = form(hidden_, head_size_, qkv.weight + square);
  key.weight_is_transposed = true;
  key.batch = heads_;
  key.x_stride = hidden_, key.x_batch = head_size_;
  key.weight_batch = static_cast<std::int64_t>(head_size_) * hidden_;
  key.y_stride = heads_ * hidden_, key.y_batch = hidden_;
  key.usual_rows = kUsualCandidates;
  last_.absorbed_key = std::make_unique<Matmul>(library_, key);

  MatmulForm value = form(head_size_, hidden_, qkv.weight + 2 * square);
  value.batch = heads_;
  value.x_stride = heads_ * hidden_, value.x_batch = hidden_;
  value.weight_batch = static_cast<std::int64_t>(head_size_) * hidden_;
  value.y_stride = hidden_, value.y_batch = head_size_;
  value.usual_rows = kUsualCandidates;
  last_.value = std::make_unique<Matmul>(library_, value);
}

Norm Encoder::norm_at(const PackedNorm& norm) const {
  return {floats_at(norm.gamma), floats_at(norm.beta), norm_epsilon_};
}

MatmulForm Encoder::form(int out, int in, std::size_t weight) const {
  MatmulForm form;
  form.element = element_;
  form.tf32 = tf32_;
  form.out = form.y_stride = out;
  form.in = form.x_stride = in;
  form.weight = at(weight);
  // In an interaction, matrices start at any row.
  if (shape_.texts) form.alignment = std::min(256, as_int(row_bytes() & (~row_bytes() + 1)));
  return form;
}

std::unique_ptr<Matmul> Encoder::linear(int out, int in, const PackedLinear& from, int usual_rows) {
  MatmulForm linear = form(out, in, from.weight);
  linear.bias = at(from.bias);
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

bool Encoder::fused(const Layer& layer) const {
  const bool gelu = layer.activation == Activation::gelu_erf || layer.activation == Activation::gelu_tanh;
  return gelu && !layer.gated && element_ != Element::f32;
}

std::unique_ptr<Matmul> Encoder::intermediate(const Layer& layer, const PackedLinear& from, int usual_rows) {
  MatmulForm linear = form(layer.gated ? 2 * intermediate_ : intermediate_, hidden_, from.weight);
  linear.bias = at(from.bias);
  linear.gelu = fused(layer);
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

std::unique_ptr<Matmul> Encoder::output(const Layer& layer, const PackedLinear& from, int usual_rows) {
  MatmulForm linear = form(hidden_, intermediate_, from.weight);
  linear.bias = at(from.bias);
  if (layer.gated) linear.x_stride = 2 * intermediate_;
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

std::size_t Encoder::activation_bytes(const ChunkSize& size) const {
  const Places places(*this, reinterpret_cast<std::byte*>(std::uintptr_t{256}), size);  // anywhere aligned
  const LastPlaces last(*this, places.wide, size);
  const InteractionPlaces mix(*this, places, size);
  const PivotPlaces pivots(*this, places.wide, size);
  const std::byte* const end = context_tokens_ > 0  ? std::max(places.end, mix.end)
                               : exchanges_.empty() ? std::max(places.end, last.end)
                                                    : std::max(places.end, pivots.end);
  return static_cast<std::size_t>(end - places.kept);
}

std::size_t Encoder::table_bytes(const ChunkSize& size) const {
  return ChunkTables(size, shape_.pivot_groups.size()).bytes;
}

std::unique_ptr<Workspace> Encoder::make_workspace(const ChunkSize& room) const {
  const std::size_t contexts = room.sequences * context_size() * size_of(element_);
  const WorkspaceBytes bytes{activation_bytes(room), library_.workspace_bytes(), table_bytes(room),
                             context_tokens_ > 0 ? contexts + room.sequences * row_bytes() : 0,
                             std::max(room.sequences * sizeof(float), contexts)};
  return std::make_unique<Workspace>(device_, room, bytes);
}

void Encoder::prepare(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  write_tables(batch, shape_, chunk, w.now().tables_on_host.data());
}

void Encoder::run(const Matmul& product, const void* x, void* y, int rows, Workspace& w) {
  product.run(x, y, rows, w.products.data(), w.stream);
}

void Encoder::embed(const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables(chunk.size, shape_.pivot_groups.size());
  w.stream.copy_to_device(w.now().tables.data(), w.now().tables_on_host.data(), tables.bytes);
  std::byte* const to = embedding_projection_ ? places.wide : places.x;
  const int rows = as_int(chunk.size.rows);
  check(cuda::embed(element_, table<Token>(w, tables.tokens), tables_, embedding_norm_, embedding_, rows, to, w.stream),
        device_, "starting the embedding");
  if (embedding_projection_) run(*embedding_projection_, to, places.x, rows, w);
  if (first_norm_.gamma != nullptr) norm(first_norm_, nullptr, rows, places, w);
}

void Encoder::norm(const Norm& norm, const void* y, int rows, const Places& places, Workspace& w) const {
  check(norms_before_ ? add_then_norm(element_, y, norm, hidden_, rows, places.x, places.normed, w.stream)
                      : add_norm(element_, y, norm, hidden_, rows, places.x, w.stream),
        device_, "starting LayerNorm");
}

void Encoder::feed_forward(const Layer& layer, const Matmul& intermediate, const Matmul& output, const Places& places,
                           void* wide, void* y, int rows, Workspace& w) const {
  run(intermediate, places.normed, wide, rows, w);
  if (!fused(layer) && (layer.gated || layer.activation != Activation::none)) {
    check(activate(element_, layer.activation, layer.gated, wide, intermediate_, rows, w.stream), device_,
          "starting the activation");
  }
  run(output, wide, y, rows, w);
  norm(layer.output_norm, y, rows, places, w);
}

AttentionWork Encoder::attention_of(const PairBatch& batch, const Chunk& chunk, const Layer& layer,
                                    Workspace& w) const {
  const ChunkTables tables(chunk.size, shape_.pivot_groups.size());
  AttentionWork work{};
  work.tiles = table<AttentionTile>(w, tables.tiles);
  work.tile_count = as_int(chunk.size.tiles);
  work.split_sequences = chunk.size.cls_tiles > chunk.size.sequences ? as_int(chunk.size.sequences) : 0;
  work.tokens = table<Token>(w, tables.tokens);
  work.sequences = table<Sequence>(w, tables.sequences);
  work.query_tokens = as_int(batch.query.tokens());
  work.pattern = layer.pattern;
  work.heads = heads_, work.head_size = head_size_;
  return work;
}

void Encoder::project(const Layer& layer, const AttentionWork& work, int rows, Workspace& w,
                      const Places& places) const {
  run(*layer.qkv, norms_before_ && !layer.norm_before ? places.x : places.normed, places.wide, rows, w);
  if (layer.turns == nullptr) return;
  check(rotate(element_, work.tokens, layer.turns, heads_, head_size_ / 2, rows, places.wide, w.stream), device_,
        "starting the rotation");
}

void Encoder::after_projection(const Layer& layer, const AttentionWork& work, int rows, Workspace& w,
                               const Places& places) const {
  AttentionWork with_parts = work;
  with_parts.parts = places.y;
  check(attention(element_, with_parts, places.wide, places.context, w.stream), device_, "starting the attention");
  run(*layer.attention_output, places.context, places.y, rows, w);
  norm(layer.attention_norm, places.y, rows, places, w);
  feed_forward(layer, *layer.intermediate, *layer.output, places, places.wide, places.y, rows, w);
}

void Encoder::block(const Layer& layer, const AttentionWork& work, int all, int rows, Workspace& w,
                    const Places& places) const {
  project(layer, work, all, w, places);
  after_projection(layer, work, rows, w, places);
}

void Encoder::last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables(chunk.size, 0);
  const LastPlaces last(*this, places.wide, chunk.size);
  const int rows = as_int(chunk.size.sequences);
  LastAttentionWork work{};
  work.segments = table<Segment>(w, tables.segments);
  work.segment_count = as_int(chunk.size.segments);
  work.sequences = table<Sequence>(w, tables.sequences);
  work.sequence_count = rows;
  work.query_tokens = as_int(batch.query.tokens());
  work.sees_query = shape_.last_sees_query, work.sees_document = shape_.last_sees_document;
  work.heads = heads_, work.head_size = head_size_;

  run(*last_.query, places.x, last.query, rows, w);
  run(*last_.absorbed_key, last.query, last.absorbed, rows, w);
  check(last_attention(element_, work, places.x, last.absorbed, last.partial, last.mixed, w.stream), device_,
        "starting the last attention");
  run(*last_.value, last.mixed, last.context, rows, w);
  run(*last_.attention_output, last.context, last.y, rows, w);
  const Layer& layer = layers_.back();
  norm(layer.attention_norm, last.y, rows, places, w);
  feed_forward(layer, *last_.intermediate, *last_.output, places, last.wide, last.y, rows, w);
}

void Encoder::finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const {
  const LastPlaces last(*this, places.wide, chunk.size);
  const void* states = places.normed;
  if (head_groups_[kQuery] || head_groups_[kDocument]) {
    const PoolWork work{table<Sequence>(w, ChunkTables(chunk.size, 0).sequences),
                        as_int(chunk.size.sequences),
                        as_int(batch.query.tokens()),
                        head_groups_[kCls],
                        head_groups_[kQuery],
                        head_groups_[kDocument]};
    check(pool(element_, work, states, hidden_, last.y, w.stream), device_, "starting the mean of the states");
    states = last.y;
  }
  head(states, last.pooled, last.logits, as_int(chunk.size.sequences), w);
}

void Encoder::head(const void* states, float* pooled, float* logits, int rows, Workspace& w) const {
  if (head_dense_) run(*head_dense_, states, pooled, rows, w);
  check(cuda::head(head_dense_ ? Element::f32 : element_, head_, head_dense_ ? pooled : states, hidden_, rows, logits,
                   w.stream),
        device_, "starting the head");
  w.stream.copy_to_host(w.now().results.data(), logits, static_cast<std::size_t>(rows) * sizeof(float));
}

void Encoder::start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  w.now().clock.start(w.stream);
  const Places places(*this, w.activations.data(), chunk.size);
  embed(chunk, w, places);
  const int all = as_int(chunk.size.rows);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool last = i + 1 == layers_.size();
    if (last && last_is_short_) {
      last_block(batch, chunk, w, places);
      break;
    }
    AttentionWork work = attention_of(batch, chunk, layers_[i], w);
    int rows = all;
    if (last && head_groups_ == std::array{true, false, false, false}) {
      // The rows and the tiles of [CLS] come first.
      rows = as_int(chunk.size.sequences);
      work.tile_count = as_int(chunk.size.cls_tiles);
    }
    block(layers_[i], work, all, rows, w, places);
    if (has_exchanges()) exchange(exchanges_[i], chunk, w, places);
  }
  if (has_exchanges()) {
    score_pivots(chunk, w, places);
  } else {
    finish(batch, chunk, w, places);
  }
  w.now().clock.stop(w.stream);
}

HiddenStates Encoder::hidden_states(const PairBatch& pair, Workspace& w) const {
  const Chunk chunk = chunks_of(pair, shape_, w.room).front();
  const Places places(*this, w.activations.data(), chunk.size);
  const auto hidden = static_cast<std::size_t>(hidden_);
  std::vector<std::byte> raw(chunk.size.rows * hidden * size_of(element_));
  const auto rows_of_x = [&](std::size_t first, std::size_t rows) {
    std::vector<float> values(rows * hidden);
    w.stream.copy_to_host(raw.data(), places.x + first * hidden * size_of(element_), values.size() * size_of(element_));
    w.stream.wait();
    to_floats(element_, raw.data(), values.size(), values.data());
    return values;
  };

  const std::size_t query = pair.query.tokens(), document = pair.documents.front().tokens(),
                    globals = pair.globals.front().size();
  HiddenStates states;
  prepare(pair, chunk, w);
  embed(chunk, w, places);
  for (const Layer& layer : layers_) {
    const int rows = as_int(chunk.size.rows);
    block(layer, attention_of(pair, chunk, layer, w), rows, rows, w, places);
    states.layers.push_back({rows_of_x(0, 1), rows_of_x(1, query), rows_of_x(1 + query + globals, document - globals)});
    if (globals > 0) states.layers.back().push_back(rows_of_x(1 + query, globals));
  }
  finish(pair, chunk, w, places);
  w.stream.wait();
  std::memcpy(&states.logit, w.now().results.data(), sizeof(float));
  return states;
}

}  // namespace relucent::cuda
