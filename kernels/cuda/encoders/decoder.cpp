// Encoders with a decoder of one token: query and document pass through one stack, the token through a second one. Host
// code.

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/encoders/one_token.h"

namespace relucent::cuda {
namespace {

ChunkShape shape_of_decoder(const EncoderDescription& description) {
  // The same in every layer; cuda_backend.cpp refuses others.
  const std::vector<View>& seen = description.stacks.back().layers.front().attentions.back().views[kCls];
  return {.shares_query = PairForm(description).shares_query,
          .last_sees_query = seen[kQuery].kind != View::Kind::none,
          .last_sees_document = seen[kDocument].kind != View::Kind::none,
          .decoder = true};
}

/// The token's own attention has one key, and so is its value. In each layer it reads the states of the first stack
/// twice. Residuals are fp32 in every precision.
class Decoder final : public ChunkEncoder {
 public:
  explicit Decoder(const EncoderSource& source)
      : ChunkEncoder(EncoderKind::decoder, source, shape_of_decoder(source.description)),
        first_norm_(core_.norm_at(source.weights.decoder_norm)),
        head_(core_, source.description, source.weights) {
    const int hidden = core_.hidden(), width = core_.width();
    for (std::size_t i = 0; i < source.weights.decoder.size(); ++i) {
      const PackedDecoderLayer& from = source.weights.decoder[i];
      steps_.push_back({core_.linear(width, hidden, from.own_value, kUsualCandidates),
                        core_.added(hidden, width, from.own_output, kUsualCandidates),
                        core_.bias_of_added(from.own_output), core_.norm_at(from.norm),
                        OneToken(core_, {from.query, from.key, from.value, from.output}, false),
                        core_.bias_of_added(from.output),
                        core_.make_feed_forward(source.description.stacks.back().layers[i].feed_forward,
                                                from.feed_forward, kUsualCandidates)});
    }
  }

  void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed, const StopSignal& stop,
             DeviceCost& cost) const override {
    core_.score(*this, batch, logits, borrowed, stop, cost);
  }

 private:
  struct Step {
    std::unique_ptr<Matmul> own_value, own_output;
    const void* own_bias;  // of own_output; null: it adds it
    Norm norm;
    OneToken cross;
    const void* cross_bias;
    Core::Layer feed_forward;  // with the norms before it and before what follows
  };
  /// The token's matrices, one row per sequence, and the head's, in the memory of `wide`. `attention`: of either one.
  struct StepPlaces {
    StepPlaces(const Decoder& e, std::byte* base, const ChunkSize& size) {
      std::byte* next = base;
      const auto take = [&next](std::size_t bytes) { return std::exchange(next, next + aligned(bytes)); };
      normed = take(size.sequences * e.core_.row_bytes());
      attention = next;
      next = OneToken::Places(e.steps_.front().cross, next, size).end;
      wide = take(size.sequences * as_size(e.core_.wide()) * size_of(e.core_.element()));
      y = take(size.sequences * e.core_.sum_bytes());
      head = next;
      end = TokenHead::Places(e.head_, next, size).end;
    }

    std::byte *normed, *attention, *wide, *y, *head, *end;
  };

  std::size_t activation_bytes(const ChunkSize& size) const override {
    const Core::Places places(core_, core_.anywhere(), size.rows);
    return static_cast<std::size_t>(std::max(places.end, StepPlaces(*this, places.wide, size).end) - places.x);
  }

  void start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const override {
    w.now().clock.start(w.stream);
    const Core::Places places(core_, w.activations.data(), chunk.size.rows);
    core_.send_tables(chunk, w);
    core_.embed(chunk, w, places);
    const int tokens = as_int(chunk.size.sequences), rows = as_int(chunk.size.rows) - tokens;
    for (const Core::Layer& layer : core_.layers()) {
      core_.block(layer, core_.attention_of(batch, chunk, layer, w), rows, rows, w, places);
    }

    const StepPlaces own(*this, places.wide, chunk.size);
    Core::Places token = places;
    token.x = places.x + as_size(rows) * core_.sum_bytes();
    token.normed = own.normed;
    core_.norm(first_norm_, nullptr, tokens, token, w);
    for (const Step& step : steps_) {
      const OneToken::Places attention(step.cross, own.attention, chunk.size);
      Core::run(*step.own_value, token.normed, attention.context, tokens, w);
      Core::run(*step.own_output, attention.context, own.y, tokens, w);
      core_.norm(step.norm, own.y, tokens, token, w, step.own_bias);
      step.cross.run(batch, chunk, token.normed, places.normed, attention, own.y, w);
      const Core::Layer& layer = step.feed_forward;
      core_.norm(layer.attention_norm, own.y, tokens, token, w, step.cross_bias);
      core_.feed_forward(layer, *layer.intermediate, *layer.output, token, own.wide, own.y, tokens, w);
    }
    const TokenHead::Places head(head_, own.head, chunk.size);
    head_.run(token.normed, tokens, head, w);
    head_.fetch(tokens, head, w);
    w.now().clock.stop(w.stream);
  }

  Norm first_norm_;
  std::vector<Step> steps_;  // one per layer
  TokenHead head_;
};

}  // namespace

std::unique_ptr<const Encoder> make_decoder(const EncoderSource& source) { return std::make_unique<Decoder>(source); }

}  // namespace relucent::cuda
