#include "kernels/cuda/encoders/pair_encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace relucent::cuda {
namespace {

// For [CLS] alone there are as many rows as candidates.
constexpr int kUsualCandidates = 128;

std::array<bool, 4> pooled_groups(const Head& head) {
  std::array<bool, 4> groups{};
  for (const std::int32_t group : head.groups) groups[static_cast<std::size_t>(group)] = true;
  return groups;
}

ChunkShape shape_of_pairs(const EncoderDescription& description) {
  return {.shares_query = PairForm(description).shares_query, .set = kind_of(description) == EncoderKind::set};
}

}  // namespace

PairEncoder::LastPlaces::LastPlaces(const PairEncoder& e, std::byte* base, const ChunkSize& size) {
  const std::size_t hidden = static_cast<std::size_t>(e.hidden_), heads = static_cast<std::size_t>(e.heads_);
  const std::size_t row = size.sequences * hidden;
  std::byte* next = base;
  const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
  query = take(row * size_of(e.element_));
  absorbed = take(row * heads * size_of(e.element_));
  partial = reinterpret_cast<float*>(take(size.segments * heads * (hidden + 2) * sizeof(float)));
  mixed = take(row * heads * size_of(e.element_));
  context = take(row * size_of(e.element_));
  wide = take(size.sequences * static_cast<std::size_t>(e.core_.wide()) * size_of(e.element_));
  y = take(row * size_of(e.element_));
  const std::size_t head_row = size.sequences * static_cast<std::size_t>(e.most_head_features_);
  for (std::byte*& step : steps) step = take(e.head_steps_.empty() ? 0 : head_row * size_of(e.element_));
  pooled = reinterpret_cast<float*>(take(head_row * sizeof(float)));
  residual = reinterpret_cast<float*>(take(e.head_steps_.empty() ? 0 : head_row * sizeof(float)));
  logits = reinterpret_cast<float*>(take(size.sequences * e.logit_bytes_));
  end = next;
}

PairEncoder::PairEncoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
    : Encoder(kind_of(description)),
      core_(device, description, weights, tf32, shape_of_pairs(description)),
      last_is_short_(PairForm(description).last_is_short),
      head_groups_(pooled_groups(description.head)),
      head_{nullptr,
            Activation::none,
            {},
            description.head.outputs,
            core_.floats_at(weights.head_output),
            core_.floats_at(weights.head_output_bias),
            description.head.classifies},
      logit_bytes_(description.head.logits() * sizeof(float)) {
  if (core_.shape().set && description.groups.size() > kInteraction && !head_groups_[kDocument]) {
    head_groups_ = {false, true, false, false};
    pools_first_ = true;
  }
  if (last_is_short_) make_last_layer(weights);
  make_head(description, weights);
}

void PairEncoder::make_head(const EncoderDescription& description, const PackedWeights& weights) {
  const auto linear = [&](int out, int in, std::size_t weight) {
    MatmulForm form = core_.form(out, in, weight);
    form.float_result = true;
    form.usual_rows = kUsualCandidates;
    return core_.matmul(form);
  };
  const std::vector<relucent::HeadStep>& forms = description.head.steps;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const relucent::HeadStep& form = forms[i];
    const PackedHeadStep& from = weights.head_steps[i];
    const int in = i == 0 ? hidden_ : head_steps_.back().size, out = form.size > 0 ? form.size : in;
    HeadStep step{.size = out};
    if (form.size > 0) step.dense = linear(out, in, from.dense.weight);
    if (form.residual == relucent::HeadStep::Residual::projected) {
      step.residual = linear(out, in, from.residual.weight);
    }
    step.work = {nullptr,
                 core_.floats_at(from.dense.bias),
                 form.activation,
                 form.residual == relucent::HeadStep::Residual::input,
                 nullptr,
                 core_.floats_at(from.residual.bias),
                 core_.norm_at(from.norm)};
    step.work.norm.epsilon = description.epsilon_of(form);
    most_head_features_ = std::max(most_head_features_, out);
    head_steps_.push_back(std::move(step));
  }
  // The kernel of the output rows also computes what usually comes before them.
  if (forms.empty()) return;
  last_size_ = head_steps_.back().size;
  if (forms.back().residual != relucent::HeadStep::Residual::none) return;
  HeadStep last = std::move(head_steps_.back());
  head_steps_.pop_back();
  head_.bias = last.work.bias;
  head_.activation = last.work.activation;
  head_.norm = last.work.norm;
  last_dense_ = std::move(last.dense);
}

void PairEncoder::make_last_layer(const PackedWeights& weights) {
  const PackedLayer& final = weights.layers.back();
  const PackedLinear& qkv = final.qkv;
  const std::size_t square = static_cast<std::size_t>(hidden_) * static_cast<std::size_t>(hidden_) * size_of(element_);
  last_.query = core_.linear(hidden_, hidden_, qkv, kUsualCandidates);
  last_.attention_output =
      core_.linear(hidden_, hidden_, {final.attention_output.weight, weights.last_output_bias}, kUsualCandidates);
  last_.intermediate = core_.intermediate(core_.layers().back(), final.intermediate, kUsualCandidates);
  last_.output = core_.output(core_.layers().back(), final.output, kUsualCandidates);

  // absorbed[s, head] = W_K of the head, [head_size, hidden], transposed, times q[s] of the head.
  MatmulForm key = core_.form(hidden_, head_size_, qkv.weight + square);
  key.weight_is_transposed = true;
  key.batch = heads_;
  key.x_stride = hidden_, key.x_batch = head_size_;
  key.weight_batch = static_cast<std::int64_t>(head_size_) * hidden_;
  key.y_stride = heads_ * hidden_, key.y_batch = hidden_;
  key.usual_rows = kUsualCandidates;
  last_.absorbed_key = core_.matmul(key);

  MatmulForm value = core_.form(head_size_, hidden_, qkv.weight + 2 * square);
  value.batch = heads_;
  value.x_stride = heads_ * hidden_, value.x_batch = hidden_;
  value.weight_batch = static_cast<std::int64_t>(head_size_) * hidden_;
  value.y_stride = hidden_, value.y_batch = head_size_;
  value.usual_rows = kUsualCandidates;
  last_.value = core_.matmul(value);
}

std::size_t PairEncoder::activation_bytes(const ChunkSize& size) const {
  const Core::Places places(core_, core_.anywhere(), size.rows);
  return static_cast<std::size_t>(std::max(places.end, LastPlaces(*this, places.wide, size).end) - places.x);
}

void PairEncoder::last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w,
                             const Core::Places& places) const {
  const ChunkTables tables = core_.tables_of(chunk.size);
  const LastPlaces last(*this, places.wide, chunk.size);
  const int rows = as_int(chunk.size.sequences);
  LastAttentionWork work{};
  work.segments = Core::table<Segment>(w, tables.segments);
  work.segment_count = as_int(chunk.size.segments);
  work.sequences = Core::table<Sequence>(w, tables.sequences);
  work.sequence_count = rows;
  work.query_tokens = as_int(batch.query.tokens());
  work.sees_query = core_.shape().last_sees_query, work.sees_document = core_.shape().last_sees_document;
  work.heads = heads_, work.head_size = head_size_;

  core_.run(*last_.query, places.x, last.query, rows, w);
  core_.run(*last_.absorbed_key, last.query, last.absorbed, rows, w);
  check(last_attention(element_, work, places.x, last.absorbed, last.partial, last.mixed, w.stream), device_,
        "starting the last attention");
  core_.run(*last_.value, last.mixed, last.context, rows, w);
  core_.run(*last_.attention_output, last.context, last.y, rows, w);
  const Core::Layer& layer = core_.layers().back();
  core_.norm(layer.attention_norm, last.y, rows, places, w);
  core_.feed_forward(layer, *last_.intermediate, *last_.output, places, last.wide, last.y, rows, w);
}

void PairEncoder::finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const {
  const LastPlaces last(*this, places.wide, chunk.size);
  const void* states = places.normed;
  if (head_groups_[kQuery] || head_groups_[kDocument]) {
    const PoolWork work{Core::table<Sequence>(w, core_.tables_of(chunk.size).sequences),
                        as_int(chunk.size.sequences),
                        pools_first_ ? 1 : as_int(query_tokens(batch)),
                        head_groups_[kCls],
                        head_groups_[kQuery],
                        head_groups_[kDocument]};
    check(pool(element_, work, states, hidden_, last.y, w.stream), device_, "starting the mean of the states");
    states = last.y;
  }
  const int rows = as_int(chunk.size.sequences);
  for (std::size_t i = 0; i < head_steps_.size(); ++i) {
    const HeadStep& step = head_steps_[i];
    HeadStepWork work = step.work;
    if (step.dense) core_.run(*step.dense, states, last.pooled, rows, w);
    if (step.residual) core_.run(*step.residual, states, last.residual, rows, w);
    work.dense = step.dense ? last.pooled : nullptr;
    work.residual = step.residual ? last.residual : nullptr;
    std::byte* const next = last.steps[i % 2];
    check(head_step(element_, work, states, step.size, rows, next, w.stream), device_, "starting a step of the head");
    states = next;
  }
  if (last_dense_) core_.run(*last_dense_, states, last.pooled, rows, w);
  check(head(last_dense_ ? Element::f32 : element_, head_, last_dense_ ? last.pooled : states, last_size_, rows,
             last.logits, w.stream),
        device_, "starting the head");
  w.stream.copy_to_host(w.now().results.data(), last.logits, chunk.size.sequences * logit_bytes_);
}

void PairEncoder::start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  w.now().clock.start(w.stream);
  const Core::Places places(core_, w.activations.data(), chunk.size.rows);
  core_.embed(chunk, w, places);
  const int all = as_int(chunk.size.rows);
  for (std::size_t i = 0; i < core_.layers().size(); ++i) {
    const bool last = i + 1 == core_.layers().size();
    if (last && last_is_short_) {
      last_block(batch, chunk, w, places);
      break;
    }
    AttentionWork work = core_.attention_of(batch, chunk, core_.layers()[i], w);
    int rows = all;
    if (last && head_groups_ == std::array{true, false, false, false}) {
      // The rows and the tiles of [CLS] come first.
      rows = as_int(chunk.size.sequences);
      work.tile_count = as_int(chunk.size.cls_tiles);
    }
    core_.block(core_.layers()[i], work, all, rows, w, places);
  }
  finish(batch, chunk, w, places);
  w.now().clock.stop(w.stream);
}

HiddenStates PairEncoder::hidden_states(const ScoringBatch& batch, Workspace& w) const {
  if (core_.shape().set) return Encoder::hidden_states(batch, w);
  const PairBatch pair = core_.pairs_of(batch);
  const Chunk chunk = chunks_of(pair, core_.shape(), w.room).front();
  const Core::Places places(core_, w.activations.data(), chunk.size.rows);
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
  write_tables(pair, core_.shape(), chunk, w.now().tables_on_host.data());
  core_.embed(chunk, w, places);
  for (const Core::Layer& layer : core_.layers()) {
    const int rows = as_int(chunk.size.rows);
    core_.block(layer, core_.attention_of(pair, chunk, layer, w), rows, rows, w, places);
    states.layers.push_back({rows_of_x(0, 1), rows_of_x(1, query), rows_of_x(1 + query + globals, document - globals)});
    if (globals > 0) states.layers.back().push_back(rows_of_x(1 + query, globals));
  }
  finish(pair, chunk, w, places);
  w.stream.wait();
  std::memcpy(&states.logit, w.now().results.data(), sizeof(float));
  return states;
}

}  // namespace relucent::cuda
