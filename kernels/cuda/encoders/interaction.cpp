// Encoders of candidates apart from the query: few states stand for a candidate's text and interact with the query.
// Host code.

#include <cstring>
#include <utility>

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {
namespace {

/// A gated token sees the query; a context, which stands in the document's place, the query and itself.
Pattern interaction_pattern() {
  Pattern pattern{};
  pattern.sees = 1U << (3 * kCls + kQuery) | 1U << (3 * kDocument + kQuery) | 1U << (3 * kDocument + kDocument);
  pattern.window = -1;
  return pattern;
}

/// Chunks are of texts, of the query, whose keys stay in the workspace, or of contexts that meet them.
class Interaction final : public ChunkEncoder {
 public:
  explicit Interaction(const EncoderSource& source)
      : ChunkEncoder(EncoderKind::interaction, source, {.texts = true}),
        context_tokens_(source.description.groups[kContext].derived->tokens),
        codes_(core_.floats_at(source.weights.codes)),
        logit_bytes_(source.description.head.logits() * sizeof(float)) {
    if (source.description.head.compares) {
      const PackedLinear& dense = source.weights.head_steps.front().dense;
      MatmulForm form = core_.form(3 * hidden_, 3 * hidden_, dense.weight);
      form.float_result = true;
      compared_ = core_.matmul(form);
      head_ = {core_.floats_at(dense.bias),
               source.description.head.steps.front().activation,
               {},
               source.description.head.outputs,
               core_.floats_at(source.weights.head_output),
               core_.floats_at(source.weights.head_output_bias),
               source.description.head.classifies};
    }
    for (std::size_t i = 0; i < source.weights.interaction.size(); ++i) {
      const PackedInteraction& from = source.weights.interaction[i];
      const relucent::Layer& described = source.description.stacks.back().layers[i];
      const Attention& attention = described.attentions.front();
      Meeting& to = meetings_.emplace_back();
      to.layer = core_.make_layer(described, from.layer);
      to.layer.pattern = interaction_pattern();
      to.keys_of = as_size(*attention.keys_of_layer);
      to.hint = attention.gated->hint;
      // From the hint in the gate's input to the queries of the gated tokens; from these tokens' contexts to the gate's
      // input.
      MatmulForm query = core_.form(hidden_, hidden_, from.gated_query.weight);
      query.bias = core_.at(from.gated_query.bias);
      query.x_stride = query.y_stride = 3 * hidden_;
      to.gated_query = core_.matmul(query);
      MatmulForm found = core_.form(hidden_, hidden_, from.layer.attention_output.weight);
      found.bias = core_.at(from.layer.attention_output.bias);
      found.y_stride = 3 * hidden_;
      to.gated_output = core_.matmul(found);
      to.gate = core_.linear(hidden_, 3 * hidden_, from.gate);
    }
  }

  ChunkSize room_for(std::size_t rows) const override {
    ChunkSize room = core_.room_for(rows);
    room.rows = std::max(room.rows, size_of_meeting(1, core_.longest()).rows);
    return room;
  }

  // A candidate's context and gated token go to the device; its logit, or a text's context, comes back.
  WorkspaceBytes bytes_of(const ChunkSize& room) const override {
    WorkspaceBytes bytes = core_.bytes_of(*this, room);
    const std::size_t contexts = room.sequences * context_size() * size_of(element_);
    bytes.states = contexts + room.sequences * core_.row_bytes();
    bytes.results = std::max(bytes.results, contexts);
    return bytes;
  }

  void warm_up(Workspace& w) const override {
    const std::vector<std::int32_t> zeros(context_tokens());
    const relucent::Segment text{.ids = zeros, .positions = zeros};
    std::vector<float> context(context_size());
    DeviceCost cost;
    encode_texts({&text, 1}, context, w, {}, cost);
    const float* const contexts[] = {context.data()};
    std::vector<float> logits(core_.description().head.logits());
    interact(core_.smallest_batch().query, contexts, logits, w, {}, cost);
    w.stream.wait();
  }

  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    const InteractionBatch parts = interaction_batch(batch);
    core_.check_segment(parts.query, parts.query.tokens());
    std::vector<float> encoded(parts.texts.size() * context_size());
    encode(parts.texts, encoded, borrowed, stop, cost);
    const std::vector<const float*> contexts = parts.contexts(encoded.data(), context_size());
    interact(parts.query, contexts, logits, *borrowed, stop, cost);
  }

  void encode(std::span<const relucent::Segment> texts, std::span<float> states, BorrowedWorkspace& borrowed,
              const StopSignal& stop, DeviceCost& cost) const override {
    for (const relucent::Segment& text : texts) core_.check_segment(text, text.tokens());
    encode_texts(texts, states, *borrowed, stop, cost);
  }

 private:
  /// A layer in which contexts and gated tokens see the query.
  struct Meeting {
    Core::Layer layer;
    std::size_t keys_of;  ///< layer of the query
    std::unique_ptr<Matmul> gated_query, gated_output, gate;
    Pooling hint;
  };
  /// contexts [texts, context, hidden] in the memory of `wide`; behind everything else gate_input [candidates, 3 *
  /// hidden], where also the features are that a head compares, gate [candidates, hidden], what the head makes of the
  /// features, fp32 [candidates, 3 * hidden], and the logits.
  struct MeetingPlaces {
    MeetingPlaces(const Interaction& e, const Core::Places& places, const ChunkSize& size) {
      const std::size_t row = size.sequences * e.core_.row_bytes();
      contexts = places.wide;
      gate_input = places.end;
      gate = gate_input + aligned(3 * row);
      compared = reinterpret_cast<float*>(gate + aligned(row));
      const std::size_t features = e.compared_ ? size.sequences * 3 * as_size(e.hidden_) * sizeof(float) : 0;
      logits = reinterpret_cast<float*>(gate + aligned(row) + aligned(features));
      end = std::max(reinterpret_cast<std::byte*>(logits) + aligned(size.sequences * e.logit_bytes_),
                     contexts + aligned(e.context_tokens() * row));
    }

    std::byte *contexts, *gate_input, *gate, *end;
    float *compared, *logits;
  };

  /// The tokens and the numbers of a candidate's context.
  std::size_t context_tokens() const noexcept { return as_size(context_tokens_); }
  std::size_t context_size() const noexcept { return context_tokens() * as_size(hidden_); }
  ChunkSize size_of_meeting(std::size_t candidates, std::size_t query_tokens) const {
    return size_of_interaction(candidates, context_tokens(), query_tokens);
  }
  /// The size of the query's keys, at the start of the activations: [meetings, longest query, 3 * hidden].
  std::size_t key_bytes() const { return aligned(meetings_.size() * core_.longest() * 3 * core_.row_bytes()); }

  /// That, and the query's first token behind it, if the head takes it: [hidden].
  std::size_t kept_bytes() const { return key_bytes() + aligned(core_.row_bytes()); }
  std::size_t activation_bytes(const ChunkSize& size) const override {
    const Core::Places places(core_, core_.anywhere(), size.rows);
    const std::byte* const end = std::max(places.end, MeetingPlaces(*this, places, size).end);
    return kept_bytes() + static_cast<std::size_t>(end - places.x);
  }

  void encode_texts(std::span<const relucent::Segment> texts, std::span<float> contexts, Workspace& w,
                    const StopSignal& stop, DeviceCost& cost) const {
    if (texts.empty()) return;
    const PairBatch batch = Core::texts_of(texts);
    core_.run_batch(*this, batch, chunks_of(batch, core_.shape(), w.room), w, stop, cost,
                    [&](const Chunk& chunk, const ChunkBuffers& buffers) {
                      to_floats(element_, buffers.results.data(), chunk.size.sequences * context_size(),
                                contexts.data() + chunk.first * context_size());
                    });
  }

  /// Scores candidates that have these contexts.
  void interact(const relucent::Segment& query, std::span<const float* const> contexts, std::span<float> logits,
                Workspace& w, const StopSignal& stop, DeviceCost& cost) const {
    const PairBatch batch = Core::texts_of({&query, 1});
    const Chunk of_query = chunks_of(batch, core_.shape(), w.room).front();
    const std::size_t most = std::min(w.room.sequences, (w.room.rows - query.tokens()) / (1 + context_tokens()));
    const std::size_t chunks = (contexts.size() + most - 1) / most, each = (contexts.size() + chunks - 1) / chunks;
    const auto first = [&](std::size_t i) { return std::min(contexts.size(), (i - 1) * each); };
    const auto count = [&](std::size_t i) { return first(i + 1) - first(i); };
    // The first chunk is the query.
    core_.run_chunks(
        w, 1 + chunks, stop, cost,
        [&](std::size_t i) {
          if (i == 0) {
            write_tables(batch, core_.shape(), of_query, w.now().tables_on_host.data());
            start_query(batch, of_query, w);
          } else {
            start_meeting(contexts.subspan(first(i), count(i)), query.tokens(), w);
          }
        },
        [&](std::size_t i, const ChunkBuffers& buffers) {
          if (i > 0) core_.copy_logits(buffers, count(i), first(i), logits);
          core_.count_bytes(*this, i == 0 ? of_query.size : size_of_meeting(count(i), query.tokens()), cost);
        });
  }

  /// Starts computing the contexts of texts.
  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override {
    w.now().clock.start(w.stream);
    const Core::Places places(core_, w.activations.data() + kept_bytes(), chunk.size.rows);
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    const int rows = as_int(chunk.size.rows);
    for (const Core::Layer& layer : core_.layers())
      core_.block(layer, core_.attention_of(batch, chunk, layer, w), rows, rows, w, places);
    const MeetingPlaces mix(*this, places, chunk.size);
    check(derive(element_, Core::table<Sequence>(w, core_.tables_of(chunk.size).sequences),
                 as_int(chunk.size.sequences), context_tokens_, codes_, places.x, hidden_, mix.contexts, w.stream),
          device_, "deriving contexts");
    w.stream.copy_to_host(w.now().results.data(), mix.contexts,
                          chunk.size.sequences * context_size() * size_of(element_));
    w.now().clock.stop(w.stream);
  }

  /// Starts computing the query's keys.
  void start_query(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
    w.now().clock.start(w.stream);
    const Core::Places places(core_, w.activations.data() + kept_bytes(), chunk.size.rows);
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    const int rows = as_int(chunk.size.rows);
    const std::size_t bytes = chunk.size.rows * 3 * core_.row_bytes();
    std::size_t end = 0;
    for (const Meeting& layer : meetings_) end = std::max(end, layer.keys_of + 1);
    for (std::size_t i = 0; i < end; ++i) {
      const AttentionWork work = core_.attention_of(batch, chunk, core_.layers()[i], w);
      if (i + 1 == end) w.stream.copy_on_device(w.activations.data() + key_bytes(), places.x, core_.row_bytes());
      core_.project(core_.layers()[i], work, rows, w, places);
      for (std::size_t l = 0; l < meetings_.size(); ++l) {
        if (meetings_[l].keys_of == i) w.stream.copy_on_device(w.activations.data() + l * bytes, places.wide, bytes);
      }
      // Nothing reads the states behind the last keys.
      if (i + 1 < end) core_.after_projection(core_.layers()[i], work, rows, w, places);
    }
    w.now().clock.stop(w.stream);
  }

  /// Starts computing the logits of candidates that have these contexts; the query's keys must be in the workspace.
  // Rows are the gated tokens, which start as zeros, the contexts, and, of queries, keys and values only, the query.
  void start_meeting(std::span<const float* const> contexts, std::size_t query_tokens, Workspace& w) const {
    const std::size_t count = contexts.size();
    const ChunkSize size = size_of_meeting(count, query_tokens);
    const ChunkSize in_tables = tables_of_interaction(count);
    const ChunkTables tables = core_.tables_of(in_tables);
    ChunkBuffers& buffers = w.now();
    write_interaction(count, context_tokens(), buffers.tables_on_host.data());
    std::byte* const states = buffers.states.data();
    std::memset(states, 0, count * core_.row_bytes());
    for (std::size_t i = 0; i < count; ++i) {
      from_floats(element_, contexts[i], context_size(),
                  states + count * core_.row_bytes() + i * context_size() * size_of(element_));
    }

    buffers.clock.start(w.stream);
    const Core::Places places(core_, w.activations.data() + kept_bytes(), size.rows);
    const MeetingPlaces mix(*this, places, size);
    w.stream.copy_to_device(buffers.tables.data(), buffers.tables_on_host.data(), tables.bytes);
    w.stream.copy_to_device(places.x, states, count * (core_.row_bytes() + context_size() * size_of(element_)));
    AttentionWork work{};
    work.tiles = Core::table<AttentionTile>(w, tables.tiles);
    work.tile_count = as_int(in_tables.tiles);
    work.sequences = Core::table<Sequence>(w, tables.sequences);
    work.query_tokens = as_int(query_tokens);
    work.heads = core_.heads(), work.head_size = core_.head_size(), work.scale = core_.scale();
    const int candidates = as_int(count), of_contexts = candidates * context_tokens_, rows = candidates + of_contexts;
    const std::size_t gated = count * core_.row_bytes(), query_bytes = query_tokens * 3 * core_.row_bytes();
    const std::byte* kept = w.activations.data();
    for (const Meeting& step : meetings_) {
      const Core::Layer& layer = step.layer;
      work.pattern = layer.pattern;
      check(gate_input(element_, pool_of(step.hint, candidates), places.x, hidden_, mix.gate_input, w.stream), device_,
            "starting the hints");
      core_.run(*step.gated_query, mix.gate_input, places.wide, candidates, w);
      core_.run(*layer.qkv, places.x + gated, places.wide + 3 * gated, of_contexts, w);
      w.stream.copy_on_device(places.wide + static_cast<std::size_t>(rows) * 3 * core_.row_bytes(), kept, query_bytes);
      kept += query_bytes;
      check(attention(element_, work, places.wide, places.context, w.stream), device_, "starting the attention");
      core_.run(*step.gated_output, places.context, mix.gate_input + core_.row_bytes(), candidates, w);
      core_.run(*layer.attention_output, places.context + gated, places.y + gated, of_contexts, w);
      core_.run(*step.gate, mix.gate_input, mix.gate, candidates, w);
      check(pass_gate(element_, mix.gate, mix.gate_input, hidden_, candidates, places.y, w.stream), device_,
            "starting the gate");
      core_.norm(layer.attention_norm, places.y, rows, places, w);
      core_.feed_forward(layer, *layer.intermediate, *layer.output, places, places.wide, places.y, rows, w);
    }
    start_head({states + gated, as_size(of_contexts) * core_.row_bytes()}, candidates, w, places, mix);
    w.stream.copy_to_host(buffers.results.data(), mix.logits, count * logit_bytes_);
    buffers.clock.stop(w.stream);
  }

  /// The head on the states after the last meeting.
  void start_head(std::span<const std::byte> contexts, int candidates, Workspace& w, const Core::Places& places,
                  const MeetingPlaces& mix) const {
    const Head& form = core_.description().head;
    if (form.pools_inputs) {
      w.stream.copy_to_device(places.x + as_size(candidates) * core_.row_bytes(), contexts.data(), contexts.size());
    }
    MetTokens met{places.x, hidden_};
    if (form.dot_layer) met = {w.activations.data() + key_bytes(), 0};
    const ContextPool pool = pool_of(form.pooling, candidates);
    if (!compared_) {
      check(dot_head(element_, pool, places.x, met, hidden_, mix.logits, w.stream), device_, "starting the head");
      return;
    }
    check(compare(element_, pool, places.x, met, hidden_, mix.gate_input, w.stream), device_, "starting the features");
    core_.run(*compared_, mix.gate_input, mix.compared, candidates, w);
    check(cuda::head(Element::f32, head_, mix.compared, 3 * hidden_, candidates, mix.logits, w.stream), device_,
          "starting the head");
  }

  ContextPool pool_of(Pooling pooling, int candidates) const {
    switch (pooling) {
      case Pooling::mean: return {candidates, context_tokens_, 0, context_tokens_};
      case Pooling::first: return {candidates, context_tokens_, 0, 1};
      case Pooling::last: return {candidates, context_tokens_, context_tokens_ - 1, 1};
      case Pooling::all_but_last: return {candidates, context_tokens_, 0, std::max(1, context_tokens_ - 1)};
    }
    return {};
  }

  std::vector<Meeting> meetings_;
  int context_tokens_;
  const float* codes_;
  std::unique_ptr<Matmul> compared_;  // null: the head multiplies
  HeadWork head_{};                   // of a head that compares
  std::size_t logit_bytes_;           // of a candidate
};

}  // namespace

std::unique_ptr<const Encoder> make_interaction(const EncoderSource& source) {
  return std::make_unique<Interaction>(source);
}

}  // namespace relucent::cuda
