// Interaction: contexts from texts, the query's keys, and the interaction of both.
#include <cstring>

#include "kernels/cuda/places.h"

namespace relucent::cuda {
namespace {

/// A gated token sees the query; a context, which stands in the document's place, the query and itself.
Pattern interaction_pattern() {
  Pattern pattern{};
  pattern.sees = 1U << (3 * kCls + kQuery) | 1U << (3 * kDocument + kQuery) | 1U << (3 * kDocument + kDocument);
  pattern.window = -1;
  return pattern;
}

}  // namespace

void Encoder::make_interaction(const EncoderDescription& description, const PackedWeights& weights) {
  context_tokens_ = description.groups[kContext].derived->tokens;
  codes_ = floats_at(weights.codes);
  for (std::size_t i = 0; i < weights.interaction.size(); ++i) {
    const PackedInteraction& from = weights.interaction[i];
    const relucent::Layer& described = description.stacks.back().layers[i];
    const Attention& attention = described.attentions.front();
    InteractionLayer& to = interaction_.emplace_back();
    to.layer = make_layer(described, from.layer);
    to.layer.pattern = interaction_pattern();
    to.keys_of = as_size(*attention.keys_of_layer);
    to.hint = attention.gated->hint;
    // From the hint in the gate's input to the queries of the gated tokens; from these tokens' contexts to the gate's
    // input.
    MatmulForm query = form(hidden_, hidden_, from.gated_query.weight);
    query.bias = at(from.gated_query.bias);
    query.x_stride = query.y_stride = 3 * hidden_;
    to.gated_query = std::make_unique<Matmul>(library_, query);
    MatmulForm found = form(hidden_, hidden_, from.layer.attention_output.weight);
    found.bias = at(from.layer.attention_output.bias);
    found.y_stride = 3 * hidden_;
    to.gated_output = std::make_unique<Matmul>(library_, found);
    to.gate = linear(hidden_, 3 * hidden_, from.gate);
  }
}

void Encoder::start_texts(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  w.now().clock.start(w.stream);
  const Places places(*this, w.activations.data(), chunk.size);
  embed(chunk, w, places);
  const int rows = as_int(chunk.size.rows);
  for (const Layer& layer : layers_) block(layer, attention_of(batch, chunk, layer, w), rows, rows, w, places);
  const InteractionPlaces mix(*this, places, chunk.size);
  check(derive(element_, table<Sequence>(w, ChunkTables(chunk.size, 0).sequences), as_int(chunk.size.sequences),
               context_tokens_, codes_, places.x, hidden_, mix.contexts, w.stream),
        device_, "deriving contexts");
  w.stream.copy_to_host(w.now().results.data(), mix.contexts,
                        chunk.size.sequences * context_size() * size_of(element_));
  w.now().clock.stop(w.stream);
}

void Encoder::read_contexts(const ChunkBuffers& buffers, std::size_t texts, float* contexts) const {
  to_floats(element_, buffers.results.data(), texts * context_size(), contexts);
}

void Encoder::start_query(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  w.now().clock.start(w.stream);
  const Places places(*this, w.activations.data(), chunk.size);
  embed(chunk, w, places);
  const int rows = as_int(chunk.size.rows);
  const std::size_t bytes = chunk.size.rows * 3 * row_bytes();
  std::size_t end = 0;
  for (const InteractionLayer& layer : interaction_) end = std::max(end, layer.keys_of + 1);
  for (std::size_t i = 0; i < end; ++i) {
    const AttentionWork work = attention_of(batch, chunk, layers_[i], w);
    project(layers_[i], work, rows, w, places);
    for (std::size_t l = 0; l < interaction_.size(); ++l) {
      if (interaction_[l].keys_of == i) w.stream.copy_on_device(places.kept + l * bytes, places.wide, bytes);
    }
    // Nothing reads the states behind the last keys.
    if (i + 1 < end) after_projection(layers_[i], work, rows, w, places);
  }
  w.now().clock.stop(w.stream);
}

std::size_t Encoder::most_candidates(const ChunkSize& room, std::size_t query_tokens) const {
  return std::min(room.sequences, (room.rows - query_tokens) / (1 + context_tokens()));
}

ContextPool Encoder::pool_of(Pooling pooling, int candidates) const {
  switch (pooling) {
    case Pooling::mean: return {candidates, context_tokens_, 0, context_tokens_};
    case Pooling::last: return {candidates, context_tokens_, context_tokens_ - 1, 1};
    case Pooling::all_but_last: return {candidates, context_tokens_, 0, std::max(1, context_tokens_ - 1)};
  }
  return {};
}

// Rows are the gated tokens, which start as zeros, the contexts, and, of queries, keys and values only, the query.
void Encoder::start_interaction(std::span<const float* const> contexts, std::size_t query_tokens, Workspace& w) const {
  const std::size_t count = contexts.size();
  const ChunkSize size = interaction_size(count, query_tokens);
  const ChunkSize in_tables = tables_of_interaction(count);
  const ChunkTables tables(in_tables, 0);
  ChunkBuffers& buffers = w.now();
  write_interaction(count, context_tokens(), buffers.tables_on_host.data());
  std::byte* const states = buffers.states.data();
  std::memset(states, 0, count * row_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    from_floats(element_, contexts[i], context_size(),
                states + count * row_bytes() + i * context_size() * size_of(element_));
  }

  buffers.clock.start(w.stream);
  const Places places(*this, w.activations.data(), size);
  const InteractionPlaces mix(*this, places, size);
  w.stream.copy_to_device(buffers.tables.data(), buffers.tables_on_host.data(), tables.bytes);
  w.stream.copy_to_device(places.x, states, count * (row_bytes() + context_size() * size_of(element_)));
  AttentionWork work{};
  work.tiles = table<AttentionTile>(w, tables.tiles);
  work.tile_count = as_int(in_tables.tiles);
  work.sequences = table<Sequence>(w, tables.sequences);
  work.query_tokens = as_int(query_tokens);
  work.heads = heads_, work.head_size = head_size_;
  const int candidates = as_int(count), of_contexts = candidates * context_tokens_, rows = candidates + of_contexts;
  const std::size_t gated = count * row_bytes(), query_bytes = query_tokens * 3 * row_bytes();
  const std::byte* kept = places.kept;
  for (const InteractionLayer& step : interaction_) {
    const Layer& layer = step.layer;
    work.pattern = layer.pattern;
    check(gate_input(element_, pool_of(step.hint, candidates), places.x, hidden_, mix.gate_input, w.stream), device_,
          "starting the hints");
    run(*step.gated_query, mix.gate_input, places.wide, candidates, w);
    run(*layer.qkv, places.x + gated, places.wide + 3 * gated, of_contexts, w);
    w.stream.copy_on_device(places.wide + static_cast<std::size_t>(rows) * 3 * row_bytes(), kept, query_bytes);
    kept += query_bytes;
    check(attention(element_, work, places.wide, places.context, w.stream), device_, "starting the attention");
    run(*step.gated_output, places.context, mix.gate_input + row_bytes(), candidates, w);
    run(*layer.attention_output, places.context + gated, places.y + gated, of_contexts, w);
    run(*step.gate, mix.gate_input, mix.gate, candidates, w);
    check(pass_gate(element_, mix.gate, mix.gate_input, hidden_, candidates, places.y, w.stream), device_,
          "starting the gate");
    norm(layer.attention_norm, places.y, rows, places, w);
    feed_forward(layer, *layer.intermediate, *layer.output, places, places.wide, places.y, rows, w);
  }
  check(dot_head(element_, pool_of(head_pooling_, candidates), places.x, hidden_, mix.logits, w.stream), device_,
        "starting the head");
  w.stream.copy_to_host(buffers.results.data(), mix.logits, count * sizeof(float));
  buffers.clock.stop(w.stream);
}

}  // namespace relucent::cuda
