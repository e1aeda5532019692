#include "kernels/cuda/encoders/core.h"

#include <fmt/core.h>

#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr std::size_t kMaxTiles = 65'535;  // tiles are the grid's second dimension
constexpr std::size_t kMaxSequences = 1024;
static_assert(kMaxRows / kTileRows + kMaxRows / kPartTokens + 4 * kMaxSequences <= kMaxTiles);

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

}  // namespace

Core::Places::Places(const Core& e, std::byte* base, std::size_t rows) {
  const std::size_t row = e.row_bytes(), of_heads = as_size(e.width()) * size_of(e.element_);
  x = base;
  normed = e.norms_before_ ? x + aligned(rows * e.sum_bytes()) : x;
  wide = normed + aligned(rows * row);
  context = wide + aligned(3 * rows * of_heads);
  const std::size_t widest = rows * as_size(std::max(e.wide_, e.embedding_));
  y = wide + std::max(aligned(3 * rows * of_heads) + aligned(rows * of_heads), aligned(widest * size_of(e.element_)));
  query_positions = y + aligned(rows * std::max(e.sum_bytes(), of_heads));  // y also has the sums of parts
  const std::size_t of_positions =
      aligned(rows * as_size(e.heads_) * as_size(e.relative_work_.buckets) * size_of(e.element_));
  key_positions = query_positions + of_positions;
  taps = key_positions + of_positions;
  end = taps + aligned(rows * as_size(e.taps_) * row);
}

Core::Core(const EncoderSource& source, ChunkShape shape)
    : description_(source.description),
      device_(source.device),
      norm_epsilon_(source.description.norm_epsilon),
      hidden_(source.description.hidden_size),
      embedding_(source.description.embedding_size),
      heads_(source.description.stacks.front().layers.front().attentions.front().heads),
      head_size_(source.description.stacks.front().layers.front().attentions.front().head_size),
      intermediate_(source.weights.intermediate_size),
      wide_(intermediate_),
      scale_(static_cast<float>(source.description.stacks.front().layers.front().attentions.front().scale)),
      element_(source.weights.element),
      sums_(shape.decoder ? Element::f32 : element_),
      tf32_(source.tf32),
      norms_before_(source.description.stacks.front().layers.front().feed_forward.norm == NormPlacement::before),
      shape_(std::move(shape)),
      longest_(as_size(longest_input(source.description))),
      weights_(source.weights.bytes->on(source.device)),
      library_(source.device),
      tables_{at(source.weights.word), at(source.weights.position), at(source.weights.type)},
      embedding_norm_(norm_at(source.weights.embedding_norm)),
      first_norm_(norm_at(source.weights.first_norm)) {
  if (!shape_.decoder) {
    const PairForm form(source.description);
    shape_.last_sees_query = form.last_sees_query;
    shape_.last_sees_document = form.last_sees_document;
  }
  if (embedding_ != hidden_) embedding_projection_ = linear(hidden_, embedding_, source.weights.embedding_projection);
  const std::vector<std::int32_t>& groups = source.description.stacks.front().groups;
  const bool globals =
      !shape_.texts && !shape_.set && std::find(groups.begin(), groups.end(), relucent::kGlobal) != groups.end();
  for (std::size_t i = 0; i < source.weights.layers.size(); ++i) {
    const relucent::Layer& described = source.description.stacks.front().layers[i];
    Layer layer = make_layer(described, source.weights.layers[i]);
    layer.pattern = pattern_of(described.attentions.front().views, globals, as_int(longest_));
    layer.pattern.across = shape_.set;
    layers_.push_back(std::move(layer));
  }
  if (source.weights.relative_states != kAbsent) project_positions(source.weights);
  if (const auto& convolution = source.description.stacks.front().convolution) {
    Layer& first = layers_.front();
    taps_ = first.taps = convolution->size;
    first.convolution = linear(hidden_, convolution->size * hidden_, source.weights.convolution);
    first.convolution_activation = convolution->activation;
    first.convolution_norm = norm_at(source.weights.convolution_norm);
  }
}

void Core::project_positions(const PackedWeights& weights) {
  const int buckets = weights.relative_buckets;
  relative_work_.buckets_by_distance = reinterpret_cast<const std::int32_t*>(at(weights.relative_rows));
  relative_work_.reach = weights.relative_reach, relative_work_.buckets = buckets;
  const std::size_t bytes = aligned(as_size(buckets) * row_bytes());
  relative_ = std::make_unique<DeviceMemory>(device_, 2 * layers_.size() * bytes, "relative positions");
  const DeviceMemory products(device_, library_.workspace_bytes(), "products");
  Stream stream(device_);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto make = [&](const PackedLinear& map, std::size_t number) -> std::unique_ptr<Matmul> {
      if (map.weight == kAbsent) return nullptr;
      std::byte* const positions = relative_->data() + number * bytes;
      linear(hidden_, hidden_, map, buckets)
          ->run(at(weights.relative_states), positions, buckets, products.data(), stream);
      stream.wait();  // the choice of algorithms for what follows reads them
      // Per head, [buckets, head_size] times the head's part of each row's queries or keys.
      MatmulForm form = this->form(buckets, head_size_, kAbsent);
      form.weight = positions;
      form.weight_stride = hidden_;
      form.batch = heads_;
      form.alignment = row_alignment();  // keys start behind queries
      form.x_stride = 3 * hidden_, form.x_batch = head_size_;
      form.weight_batch = head_size_;
      form.y_stride = heads_ * buckets, form.y_batch = buckets;
      return matmul(form);
    };
    layers_[i].query_positions = make(weights.layers[i].relative_key, 2 * i);
    layers_[i].key_positions = make(weights.layers[i].relative_query, 2 * i + 1);
  }
}

Core::Layer Core::make_layer(const relucent::Layer& described, const PackedLayer& from) {
  auto qkv = linear(3 * width(), hidden_, from.qkv);
  auto attention_output = added(hidden_, width(), from.attention_output);
  Layer layer = make_feed_forward(described.feed_forward, from);
  layer.qkv = std::move(qkv);
  layer.attention_output = std::move(attention_output);
  layer.attention_bias = bias_of_added(from.attention_output);
  layer.turns = floats_at(from.turns);
  layer.relative.biases = floats_at(from.biases), layer.relative.reach = from.reach;
  layer.norm_before = described.attentions.front().norm == NormPlacement::before;
  return layer;
}

Core::Layer Core::make_feed_forward(const FeedForward& described, const PackedLayer& from, int usual_rows) {
  Layer layer{};
  layer.activation = described.activation, layer.gated = described.gated;
  if (layer.gated) wide_ = 2 * intermediate_;
  layer.intermediate = intermediate(layer, from.intermediate, usual_rows);
  layer.output = output(layer, from.output, usual_rows);
  layer.output_bias = bias_of_added(from.output);
  layer.attention_norm = norm_at(from.attention_norm);
  layer.output_norm = norm_at(from.output_norm);
  return layer;
}

Norm Core::norm_at(const PackedNorm& norm) const {
  return {floats_at(norm.gamma), floats_at(norm.beta), norm_epsilon_, description_.norm_kind == NormKind::rms};
}

MatmulForm Core::form(int out, int in, std::size_t weight) const {
  MatmulForm form;
  form.element = element_;
  form.tf32 = tf32_;
  form.out = form.y_stride = out;
  form.in = form.x_stride = in;
  form.weight = at(weight);
  // In an interaction, matrices start at any row.
  if (shape_.texts) form.alignment = row_alignment();
  return form;
}

std::unique_ptr<Matmul> Core::linear(int out, int in, const PackedLinear& from, int usual_rows) {
  MatmulForm linear = form(out, in, from.weight);
  linear.bias = at(from.bias);
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

bool Core::fused(const Layer& layer) const {
  const bool gelu = layer.activation == Activation::gelu_erf || layer.activation == Activation::gelu_tanh;
  return gelu && !layer.gated && element_ != Element::f32;
}

std::unique_ptr<Matmul> Core::intermediate(const Layer& layer, const PackedLinear& from, int usual_rows) {
  MatmulForm linear = form(layer.gated ? 2 * intermediate_ : intermediate_, hidden_, from.weight);
  linear.bias = at(from.bias);
  linear.gelu = fused(layer);
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

std::unique_ptr<Matmul> Core::output(const Layer& layer, const PackedLinear& from, int usual_rows) {
  return added(hidden_, intermediate_, from, usual_rows, layer.gated ? 2 * intermediate_ : 0);
}

std::unique_ptr<Matmul> Core::added(int out, int in, const PackedLinear& from, int usual_rows, int x_stride) {
  MatmulForm linear = form(out, in, from.weight);
  linear.float_result = sums_ != element_;
  if (!linear.float_result) linear.bias = at(from.bias);
  if (x_stride > 0) linear.x_stride = x_stride;
  linear.usual_rows = usual_rows;
  return std::make_unique<Matmul>(library_, linear);
}

ChunkSize Core::room_for(std::size_t rows) const {
  ChunkSize room = size_of_one(longest_, longest_, shape_);
  room.rows = std::max(room.rows, rows);
  room.sequences = std::min(kMaxSequences, std::max<std::size_t>(1, rows / 16));
  room.tiles += rows / kTileRows + rows / kPartTokens + 4 * room.sequences;
  room.segments += rows / kSegmentSlots + 2 * room.sequences;
  return room;
}

WorkspaceBytes Core::bytes_of(const ChunkWork& work, const ChunkSize& room) const {
  return {work.activation_bytes(room), library_.workspace_bytes(), tables_of(room).bytes, 0,
          room.sequences * description_.head.logits() * sizeof(float)};
}

PairBatch Core::texts_of(std::span<const relucent::Segment> texts) {
  PairBatch batch;
  batch.documents.assign(texts.begin(), texts.end());
  batch.globals.resize(texts.size());
  return batch;
}

PairBatch Core::smallest_batch() {
  static constexpr std::int32_t zero = 0;
  const relucent::Segment token{.ids = {&zero, 1}, .positions = {&zero, 1}};
  return {token, token, {token}, {{}}};
}

void Core::compute(const ChunkWork& work, const PairBatch& batch, Workspace& w) const {
  const Chunk chunk = chunks_of(batch, shape_, w.room).front();
  write_tables(batch, shape_, chunk, w.now().tables_on_host.data());
  work.start(batch, chunk, w);
  w.stream.wait();
}

void Core::check_segment(const relucent::Segment& segment, std::size_t length) const {
  const auto refuse = [](const std::string& problem) {
    throw Error(ErrorKind::unsupported, "CUDA backend", problem, "use device = \"cpu\"");
  };
  if (segment.type > 1) refuse(fmt::format("a token type is {}, but only 0 and 1 are supported", segment.type));
  for (const std::int32_t position : segment.positions) length = std::max(length, as_size(position) + 1);
  if (length <= longest_) return;
  refuse(fmt::format("the length of an input is {}, but only lengths up to {} are supported", length, longest_));
}

PairBatch Core::pairs_of(const ScoringBatch& batch) const {
  PairBatch pairs = pair_batch(description_, batch);
  for (const relucent::Segment& document : pairs.documents) {
    const std::size_t length = pairs.cls.tokens() + pairs.query.tokens() + document.tokens();
    for (const relucent::Segment& segment : {pairs.cls, pairs.query, document}) check_segment(segment, length);
  }
  return pairs;
}

void Core::run_chunks(Workspace& w, std::size_t count, const StopSignal& stop, DeviceCost& cost,
                      const std::function<void(std::size_t)>& start,
                      const std::function<void(std::size_t, const ChunkBuffers&)>& finish) {
  const auto end = [&](std::size_t i) {
    ChunkBuffers& buffers = w.buffers[i % 2];
    buffers.clock.wait();
    finish(i, buffers);
    cost.time += buffers.clock.elapsed();
  };
  for (std::size_t i = 0; i < count; ++i) {
    stop.throw_if_due("scoring the candidates");
    w.turn = i % 2;
    start(i);
    if (i > 0) end(i - 1);
  }
  end(count - 1);
}

void Core::run_batch(const ChunkWork& work, const PairBatch& batch, std::span<const Chunk> chunks, Workspace& w,
                     const StopSignal& stop, DeviceCost& cost,
                     const std::function<void(const Chunk&, const ChunkBuffers&)>& finish) const {
  run_chunks(
      w, chunks.size(), stop, cost,
      [&](std::size_t i) {
        write_tables(batch, shape_, chunks[i], w.now().tables_on_host.data());
        work.start(batch, chunks[i], w);
      },
      [&](std::size_t i, const ChunkBuffers& buffers) {
        finish(chunks[i], buffers);
        count_bytes(work, chunks[i].size, cost);
      });
}

void Core::copy_logits(const ChunkBuffers& buffers, std::size_t count, std::size_t first,
                       std::span<float> logits) const {
  const float* const results = reinterpret_cast<const float*>(buffers.results.data());
  const std::size_t each = description_.head.logits();
  std::copy_n(results, count * each, logits.begin() + static_cast<std::ptrdiff_t>(first * each));
}

void Core::score(const ChunkWork& work, const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed,
                 const StopSignal& stop, DeviceCost& cost) const {
  const PairBatch pairs = pairs_of(batch);
  const std::vector<Chunk> chunks = chunks_of(pairs, shape_, (*borrowed).room);
  ChunkSize most;
  for (const Chunk& chunk : chunks) most = room_for_both(most, chunk.size);
  if (most.tiles > kMaxTiles || most.pivot_tiles > kMaxTiles) {
    throw Error(
        ErrorKind::unsupported, "CUDA backend",
        fmt::format("cannot compute a {} of {} tokens in one piece", shape_.set ? "set" : "document", most.rows),
        "use device = \"cpu\", or cut the documents");
  }
  if (!most.fits((*borrowed).room)) borrowed.enlarge(most);
  run_batch(work, pairs, chunks, *borrowed, stop, cost, [&](const Chunk& chunk, const ChunkBuffers& buffers) {
    copy_logits(buffers, chunk.logits(), chunk.first_logit(), logits);
  });
}

void Core::run(const Matmul& product, const void* x, void* y, int rows, Workspace& w) {
  product.run(x, y, rows, w.products.data(), w.stream);
}

void Core::send_tables(const Chunk& chunk, Workspace& w) const {
  w.stream.copy_to_device(w.now().tables.data(), w.now().tables_on_host.data(), tables_of(chunk.size).bytes);
}

void Core::embed(const Chunk& chunk, Workspace& w, const Places& places) const {
  const ChunkTables tables = tables_of(chunk.size);
  std::byte* const to = embedding_projection_ ? places.wide : places.x;
  const int rows = as_int(chunk.size.rows);
  check(cuda::embed(element_, embedding_projection_ ? element_ : sums_, table<Token>(w, tables.tokens), tables_,
                    embedding_norm_, embedding_, rows, to, w.stream),
        device_, "starting the embedding");
  if (embedding_projection_) run(*embedding_projection_, to, places.x, rows, w);
  if (first_norm_.gamma != nullptr) norm(first_norm_, nullptr, rows, places, w);
}

void Core::norm(const Norm& norm, const void* y, int rows, const Places& places, Workspace& w, const void* bias) const {
  check(norms_before_
            ? add_then_norm(element_, sums_, {y, bias}, norm, hidden_, rows, places.x, places.normed, w.stream)
            : add_norm(element_, y, norm, hidden_, rows, places.x, w.stream),
        device_, "starting LayerNorm");
}

void Core::feed_forward(const Layer& layer, const Matmul& intermediate, const Matmul& output, const Places& places,
                        void* wide, void* y, int rows, Workspace& w) const {
  run(intermediate, places.normed, wide, rows, w);
  if (!fused(layer) && (layer.gated || layer.activation != Activation::none)) {
    check(activate(element_, layer.activation, layer.gated, wide, intermediate_, rows, w.stream), device_,
          "starting the activation");
  }
  run(output, wide, y, rows, w);
  norm(layer.output_norm, y, rows, places, w, layer.output_bias);
}

AttentionWork Core::attention_of(const PairBatch& batch, const Chunk& chunk, const Layer& layer, Workspace& w) const {
  const ChunkTables tables = tables_of(chunk.size);
  AttentionWork work{};
  work.tiles = table<AttentionTile>(w, tables.tiles);
  work.tile_count = as_int(chunk.size.tiles);
  work.split_sequences = chunk.size.cls_tiles > chunk.size.sequences ? as_int(chunk.size.sequences) : 0;
  work.tokens = table<Token>(w, tables.tokens);
  work.sequences = table<Sequence>(w, tables.sequences);
  work.sequence_count = as_int(chunk.size.sequences);
  work.query_tokens = as_int(query_tokens(batch));
  work.pattern = layer.pattern;
  work.heads = heads_, work.head_size = head_size_, work.scale = scale_;
  return work;
}

void Core::project(const Layer& layer, const AttentionWork& work, int rows, Workspace& w, const Places& places) const {
  run(*layer.qkv, norms_before_ && !layer.norm_before ? places.x : places.normed, places.wide, rows, w);
  if (layer.query_positions) run(*layer.query_positions, places.wide, places.query_positions, rows, w);
  if (layer.key_positions) run(*layer.key_positions, places.wide + row_bytes(), places.key_positions, rows, w);
  if (layer.turns == nullptr) return;
  check(rotate(element_, work.tokens, layer.turns, heads_, head_size_ / 2, rows, places.wide, w.stream), device_,
        "starting the rotation");
}

void Core::after_projection(const Layer& layer, const AttentionWork& work, int rows, Workspace& w,
                            const Places& places) const {
  AttentionWork with_parts = work;
  with_parts.parts = places.y;
  with_parts.relative = layer.relative;
  if (layer.query_positions || layer.key_positions) {
    with_parts.relative = relative_work_;
    if (layer.query_positions) with_parts.relative.of_queries = places.query_positions;
    if (layer.key_positions) with_parts.relative.of_keys = places.key_positions;
  }
  check(attention(element_, with_parts, places.wide, places.context, w.stream), device_, "starting the attention");
  run(*layer.attention_output, places.context, places.y, rows, w);
  norm(layer.attention_norm, places.y, rows, places, w, layer.attention_bias);
  feed_forward(layer, *layer.intermediate, *layer.output, places, places.wide, places.y, rows, w);
}

void Core::block(const Layer& layer, const AttentionWork& work, int all, int rows, Workspace& w,
                 const Places& places) const {
  if (layer.convolution) {
    check(neighbours(element_, work, places.x, hidden_, layer.taps, places.taps, w.stream), device_,
          "starting the convolution");
  }
  project(layer, work, all, w, places);
  after_projection(layer, work, rows, w, places);
  if (!layer.convolution) return;
  run(*layer.convolution, places.taps, places.y, rows, w);
  if (layer.convolution_activation != Activation::none) {
    check(activate(element_, layer.convolution_activation, false, places.y, hidden_, rows, w.stream), device_,
          "starting the activation");
  }
  norm(layer.convolution_norm, places.y, rows, places, w);
}

}  // namespace relucent::cuda
