// Cross-encoders of one stack: [CLS], query and document pass through the same layers, each candidate's by themselves
// or a set's together. Host code.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cuda/encoders/one_token.h"

namespace relucent::cuda {
namespace {

std::array<bool, 4> pooled_groups(const Head& head) {
  std::array<bool, 4> groups{};
  for (const std::int32_t group : head.groups) groups[static_cast<std::size_t>(group)] = true;
  return groups;
}

ChunkShape shape_of_pairs(const EncoderDescription& description) {
  return {.shares_query = PairForm(description).shares_query,
          .set = kind_of(description) == EncoderKind::set,
          .fills_up = !description.stacks.front().convolution};  // which computes the rows of sequences only
}

class PairEncoder final : public ChunkEncoder {
 public:
  explicit PairEncoder(const EncoderSource& source)
      : ChunkEncoder(kind_of(source.description), source, shape_of_pairs(source.description)),
        head_groups_(pooled_groups(source.description.head)),
        head_(core_, source.description, source.weights) {
    if (core_.shape().set && source.description.groups.size() > kInteraction && !head_groups_[kDocument]) {
      head_groups_ = {false, true, false, false};
      pools_first_ = true;
    }
    if (!PairForm(source.description).last_is_short) return;
    const PackedLayer& from = source.weights.layers.back();
    const Core::Layer& layer = core_.layers().back();
    const std::size_t square =
        static_cast<std::size_t>(hidden_) * static_cast<std::size_t>(hidden_) * size_of(element_);
    const OneToken::Weights attention{from.qkv,
                                      from.qkv.weight + square,
                                      from.qkv.weight + 2 * square,
                                      {from.attention_output.weight, source.weights.last_output_bias}};
    last_.emplace(LastLayer{OneToken(core_, attention, true),
                            core_.intermediate(layer, from.intermediate, kUsualCandidates),
                            core_.output(layer, from.output, kUsualCandidates)});
  }

  void warm_up(Workspace& w) const override {
    // The first run launches the kernels one by one, the second records them. Other bits would be an error of CUDA's.
    const auto results = [&] {
      ChunkEncoder::warm_up(w);
      const std::byte* const first = w.now().results.data();
      return std::vector<std::byte>(first, first + core_.description().head.logits() * sizeof(float));
    };
    w.records = graphs_are_allowed();
    const std::vector<std::byte> launched = results();
    if (w.records && results() != launched) w.records = false;
  }
  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }
  HiddenStates hidden_states(const ScoringBatch& batch, Workspace& w) const override {
    if (core_.shape().set) return Encoder::hidden_states(batch, w);
    const PairBatch pair = core_.pairs_of(batch);
    const Chunk chunk = chunks_of(pair, core_.shape(), w.room).front();
    const Core::Places places(core_, w.activations.data(), chunk.size.rows);
    const auto hidden = static_cast<std::size_t>(hidden_);
    std::vector<std::byte> raw(chunk.size.rows * hidden * size_of(element_));
    const auto rows_of_x = [&](std::size_t first, std::size_t rows) {
      std::vector<float> values(rows * hidden);
      w.stream.copy_to_host(raw.data(), places.x + first * hidden * size_of(element_),
                            values.size() * size_of(element_));
      w.stream.wait();
      to_floats(element_, raw.data(), values.size(), values.data());
      return values;
    };

    const std::size_t query = pair.query.tokens(), document = pair.documents.front().tokens(),
                      globals = pair.globals.front().size();
    HiddenStates states;
    write_tables(pair, core_.shape(), chunk, w.now().tables_on_host.data());
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    for (const Core::Layer& layer : core_.layers()) {
      const int rows = as_int(chunk.size.rows);
      core_.block(layer, core_.attention_of(pair, chunk, layer, w), rows, rows, w, places);
      states.layers.push_back(
          {rows_of_x(0, 1), rows_of_x(1, query), rows_of_x(1 + query + globals, document - globals)});
      if (globals > 0) states.layers.back().push_back(rows_of_x(1 + query, globals));
    }
    finish(pair, chunk, w, places);
    fetch(chunk, w, places);
    w.stream.wait();
    std::memcpy(&states.logit, w.now().results.data(), sizeof(float));
    return states;
  }

 private:
  /// The last layer for [CLS] alone; its products of many rows have twins for few.
  struct LastLayer {
    OneToken attention;
    std::unique_ptr<Matmul> intermediate, output;
  };
  /// Its matrices, one row per sequence, and the head's, in the memory of `wide`.
  struct LastPlaces {
    LastPlaces(const PairEncoder& e, std::byte* base, const ChunkSize& size) {
      std::byte* next = base;
      const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
      attention = next;
      if (e.last_) next = OneToken::Places(e.last_->attention, next, size).end;
      wide = take(size.sequences * as_size(e.core_.wide()) * size_of(e.element_));
      y = take(size.sequences * e.core_.row_bytes());
      head = next;
      end = TokenHead::Places(e.head_, next, size).end;
    }

    std::byte *attention, *wide, *y, *head, *end;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override {
    const Core::Places places(core_, core_.anywhere(), size.rows);
    return static_cast<std::size_t>(std::max(places.end, LastPlaces(*this, places.wide, size).end) - places.x);
  }

  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override {
    ChunkBuffers& now = w.now();
    now.clock.start(w.stream);
    const Core::Places places(core_, w.activations.data(), chunk.size.rows);
    core_.send_tables(chunk, w);
    const auto launch = [&] { compute(batch, chunk, w, places); };
    if (w.records && chunk.size.rows <= kMostFilledRows) {
      w.records = now.graphs.run(w.stream, {chunk.size, batch.cls.tokens(), batch.query.tokens()}, launch);
    } else {
      launch();
    }
    fetch(chunk, w, places);
    now.clock.stop(w.stream);
  }

  /// Launches everything between the copies of a chunk's tables and of its logits.
  void compute(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const {
    core_.embed(chunk, w, places);
    const int all = as_int(chunk.size.rows);
    for (std::size_t i = 0; i < core_.layers().size(); ++i) {
      const bool last = i + 1 == core_.layers().size();
      if (last && last_) {
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
  }

  void last_block(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const {
    const LastPlaces last(*this, places.wide, chunk.size);
    const int rows = as_int(chunk.size.sequences);
    const Core::Layer& layer = core_.layers().back();
    last_->attention.run(batch, chunk, places.x, places.x,
                         OneToken::Places(last_->attention, last.attention, chunk.size), last.y, w);
    core_.norm(layer.attention_norm, last.y, rows, places, w);
    core_.feed_forward(layer, *last_->intermediate, *last_->output, places, last.wide, last.y, rows, w);
  }

  /// The head on the states of a chunk whose layers are computed.
  void finish(const PairBatch& batch, const Chunk& chunk, Workspace& w, const Core::Places& places) const {
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
    head_.run(states, as_int(chunk.size.sequences), TokenHead::Places(head_, last.head, chunk.size), w);
  }
  /// Copies its logits to the chunk's results.
  void fetch(const Chunk& chunk, Workspace& w, const Core::Places& places) const {
    const LastPlaces last(*this, places.wide, chunk.size);
    head_.fetch(as_int(chunk.size.sequences), TokenHead::Places(head_, last.head, chunk.size), w);
  }

  std::array<bool, 4> head_groups_;  // whose mean the head takes
  bool pools_first_ = false;         // of kQuery: its first token, where [CLS] is if another token has its row
  std::optional<LastLayer> last_;    // if only [CLS] is needed of it
  TokenHead head_;
};

}  // namespace

std::unique_ptr<const Encoder> make_pair_encoder(const EncoderSource& source) {
  return std::make_unique<PairEncoder>(source);
}

}  // namespace relucent::cuda
