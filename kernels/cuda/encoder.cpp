#include "kernels/cuda/encoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace relucent::cuda {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// For [CLS] alone there are as many rows as candidates.
constexpr int kUsualCandidates = 128;

std::int32_t as_int(std::size_t value) { return static_cast<std::int32_t>(value); }

Pattern pattern_of(const Views& views, int longest) {
  Pattern pattern{};
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      const View& view = views[from][to];
      const bool window = view.kind == View::Kind::window && view.window < longest;
      if (view.kind != View::Kind::none) pattern.sees |= 1U << (3 * from + to);
      pattern.windows[3 * from + to] = window ? view.window : -1;
      const bool own = from == to && from != kQuery;  // a [CLS] alone is in any window of its own
      pattern.by_position = pattern.by_position || (window && !own);
    }
  }
  pattern.window = pattern.windows[3 * kDocument + kDocument];
  pattern.globals = views.size() > kGlobal;
  return pattern;
}

std::array<bool, 4> pooled_groups(const Head& head) {
  std::array<bool, 4> groups{};
  for (const std::int32_t group : head.groups) groups[static_cast<std::size_t>(group)] = true;
  return groups;
}

ChunkShape shape_of(const PairForm& form) {
  ChunkShape shape;
  shape.shares_query = form.shares_query;
  shape.last_sees_query = form.patterns.back().cls_query;
  shape.last_sees_document = form.patterns.back().cls_document;
  return shape;
}

}  // namespace

ChunkBuffers::ChunkBuffers(int device, const ChunkSize& room)
    : tables_on_host(device, ChunkTables(room).bytes),
      tables(device, ChunkTables(room).bytes, "tables of a batch"),
      results(device, room.sequences * sizeof(float)),
      clock(device) {}

Workspace::Workspace(int device, const ChunkSize& chunk_room, std::size_t activation_bytes, std::size_t product_bytes)
    : room(chunk_room),
      stream(device),
      activations(device, activation_bytes, "activations"),
      products(device, product_bytes, "products"),
      buffers{{{device, room}, {device, room}}} {}

/// x [rows, hidden]: the activations that each layer updates; wide: query, key, value [rows, 3 * hidden] followed by
/// the context [rows, hidden], or the intermediate [rows, wide], or embeddings before their projection
/// [rows, embedding]; y [rows, hidden]: what a kernel adds to x; normed [rows, hidden]: the sub-blocks' input if norms
/// come before them, otherwise x itself.
struct Encoder::Places {
  Places(const Encoder& e, std::byte* base, const ChunkSize& size) {
    const std::size_t row = static_cast<std::size_t>(e.hidden_) * size_of(e.element_);
    x = base;
    normed = e.norms_before_ ? x + aligned(size.rows * row) : x;
    wide = normed + aligned(size.rows * row);
    context = wide + aligned(3 * size.rows * row);
    const std::size_t widest = size.rows * static_cast<std::size_t>(std::max(e.wide_, e.embedding_));
    y = wide + std::max(aligned(3 * size.rows * row) + aligned(size.rows * row), aligned(widest * size_of(e.element_)));
    end = y + aligned(size.rows * row);
  }

  std::byte *x, *normed, *wide, *context, *y, *end;
};

/// The last layer's matrices for [CLS] alone, in the memory of `wide`. All but `partial` have one row per sequence.
struct Encoder::LastPlaces {
  LastPlaces(const Encoder& e, std::byte* base, const ChunkSize& size) {
    const std::size_t hidden = static_cast<std::size_t>(e.hidden_), heads = static_cast<std::size_t>(e.heads_);
    const std::size_t row = size.sequences * hidden;
    std::byte* next = base;
    const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
    query = take(row * size_of(e.element_));
    absorbed = take(row * heads * size_of(e.element_));
    partial = reinterpret_cast<float*>(take(size.segments * heads * (hidden + 2) * sizeof(float)));
    mixed = take(row * heads * size_of(e.element_));
    context = take(row * size_of(e.element_));
    wide = take(size.sequences * static_cast<std::size_t>(e.wide_) * size_of(e.element_));
    y = take(row * size_of(e.element_));
    pooled = reinterpret_cast<float*>(take(row * sizeof(float)));
    logits = reinterpret_cast<float*>(take(size.sequences * sizeof(float)));
    end = next;
  }

  std::byte *query, *absorbed, *mixed, *context, *wide, *y, *end;
  float *partial, *pooled, *logits;
};

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
      shape_(shape_of(pairs_)),
      weights_(device, weights.bytes.size(), "the model's weights"),
      library_(device),
      tables_{at(weights.word), at(weights.position), at(weights.type)},
      embedding_norm_(norm_at(weights.embedding_norm)),
      first_norm_(norm_at(weights.first_norm)),
      head_{floats_at(weights.head_dense.bias), description.head.activation,    norm_at(weights.head_norm),
            description.head.outputs,           floats_at(weights.head_output), floats_at(weights.head_output_bias)} {
  // On a stream, then wait for it: a plain cudaMemcpy may still be running when our own streams start.
  Stream upload(device);
  upload.copy_to_device(weights_.data(), weights.bytes.data(), weights.bytes.size());
  upload.wait();
  if (embedding_ != hidden_) embedding_projection_ = linear(hidden_, embedding_, weights.embedding_projection);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    const PackedLayer& from = weights.layers[i];
    const relucent::Layer& described = description.stacks.front().layers[i];
    const Attention& attention = described.attentions.front();
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
    layer.norm_before = attention.norm == NormPlacement::before;
    layer.pattern = pattern_of(attention.views, longest_input(description));
    layers_.push_back(std::move(layer));
  }

  if (last_is_short_) make_last_layer(weights);
  if (!description.head.dense) return;
  MatmulForm dense = form(hidden_, hidden_, weights.head_dense.weight);
  dense.float_result = true;
  dense.usual_rows = kUsualCandidates;
  head_dense_ = std::make_unique<Matmul>(library_, dense);
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
  return static_cast<std::size_t>(std::max(places.end, last.end) - places.x);
}

std::unique_ptr<Workspace> Encoder::make_workspace(const ChunkSize& room) const {
  return std::make_unique<Workspace>(device_, room, activation_bytes(room), library_.workspace_bytes());
}

void Encoder::prepare(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  write_tables(batch, shape_, chunk, w.now().tables_on_host.data());
}

void Encoder::run(const Matmul& product, const void* x, void* y, int rows, Workspace& w) {
  product.run(x, y, rows, w.products.data(), w.stream);
}

void Encoder::embed(const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables(chunk.size);
  w.stream.copy_to_device(w.now().tables.data(), w.now().tables_on_host.data(), tables.bytes);
  std::byte* const to = embedding_projection_ ? places.wide : places.x;
  const int rows = as_int(chunk.size.rows);
  check(cuda::embed(element_, reinterpret_cast<const Token*>(w.now().tables.data() + tables.tokens), tables_,
                    embedding_norm_, embedding_, rows, to, w.stream),
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

void Encoder::block(const Layer& layer, const PairBatch& batch, const Chunk& chunk, bool cls_alone, Workspace& w,
                    const Places& places) const {
  const ChunkTables tables(chunk.size);
  const int all = as_int(chunk.size.rows);
  // The rows and the tiles of [CLS] come first.
  const int rows = as_int(cls_alone ? chunk.size.sequences : chunk.size.rows);
  AttentionWork work{};
  work.tiles = reinterpret_cast<const AttentionTile*>(w.now().tables.data() + tables.tiles);
  work.tile_count = cls_alone ? rows : as_int(chunk.size.tiles);
  work.tokens = reinterpret_cast<const Token*>(w.now().tables.data() + tables.tokens);
  work.sequences = reinterpret_cast<const Sequence*>(w.now().tables.data() + tables.sequences);
  work.query_tokens = as_int(batch.query.tokens());
  work.pattern = layer.pattern;
  work.heads = heads_, work.head_size = head_size_;

  run(*layer.qkv, norms_before_ && !layer.norm_before ? places.x : places.normed, places.wide, all, w);
  if (layer.turns != nullptr) {
    check(rotate(element_, work.tokens, layer.turns, heads_, head_size_ / 2, all, places.wide, w.stream), device_,
          "starting the rotation");
  }
  check(attention(element_, work, places.wide, places.context, w.stream), device_, "starting the attention");
  run(*layer.attention_output, places.context, places.y, rows, w);
  norm(layer.attention_norm, places.y, rows, places, w);
  feed_forward(layer, *layer.intermediate, *layer.output, places, places.wide, places.y, rows, w);
}

void Encoder::last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables(chunk.size);
  const LastPlaces last(*this, places.wide, chunk.size);
  const int rows = as_int(chunk.size.sequences);
  LastAttentionWork work{};
  work.segments = reinterpret_cast<const Segment*>(w.now().tables.data() + tables.segments);
  work.segment_count = as_int(chunk.size.segments);
  work.sequences = reinterpret_cast<const Sequence*>(w.now().tables.data() + tables.sequences);
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
    const std::byte* const sequences = w.now().tables.data() + ChunkTables(chunk.size).sequences;
    const PoolWork work{reinterpret_cast<const Sequence*>(sequences),
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
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) block(layers_[i], batch, chunk, false, w, places);
  if (last_is_short_) {
    last_block(batch, chunk, w, places);
  } else {
    block(layers_.back(), batch, chunk, head_groups_ == std::array{true, false, false, false}, w, places);
  }
  finish(batch, chunk, w, places);
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
    with_element(element_, [&]<typename T>(T) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
        values[i] = to_float(value);
      }
    });
    return values;
  };

  const std::size_t query = pair.query.tokens(), document = pair.documents.front().tokens(),
                    globals = pair.globals.front().size();
  HiddenStates states;
  prepare(pair, chunk, w);
  embed(chunk, w, places);
  for (const Layer& layer : layers_) {
    block(layer, pair, chunk, false, w, places);
    states.layers.push_back({rows_of_x(0, 1), rows_of_x(1, query), rows_of_x(1 + query + globals, document - globals)});
    if (globals > 0) states.layers.back().push_back(rows_of_x(1 + query, globals));
  }
  finish(pair, chunk, w, places);
  w.stream.wait();
  std::memcpy(&states.logit, w.now().results.data(), sizeof(float));
  return states;
}

}  // namespace relucent::cuda
