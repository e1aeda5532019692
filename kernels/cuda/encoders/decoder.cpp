#include "kernels/cuda/encoders/decoder.h"

#include <algorithm>
#include <utility>

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

}  // namespace

Decoder::StepPlaces::StepPlaces(const Decoder& e, std::byte* base, const ChunkSize& size) {
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

Decoder::Decoder(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32)
    : Encoder(EncoderKind::decoder),
      core_(device, description, weights, tf32, shape_of_decoder(description)),
      first_norm_(core_.norm_at(weights.decoder_norm)),
      head_(core_, description, weights) {
  const int hidden = core_.hidden(), width = core_.width();
  for (std::size_t i = 0; i < weights.decoder.size(); ++i) {
    const PackedDecoderLayer& from = weights.decoder[i];
    steps_.push_back({core_.linear(width, hidden, from.own_value, kUsualCandidates),
                      core_.added(hidden, width, from.own_output, kUsualCandidates),
                      core_.bias_of_added(from.own_output), core_.norm_at(from.norm),
                      OneToken(core_, {from.query, from.key, from.value, from.output}, false),
                      core_.bias_of_added(from.output),
                      core_.make_feed_forward(description.stacks.back().layers[i].feed_forward, from.feed_forward,
                                              kUsualCandidates)});
  }
}

std::size_t Decoder::activation_bytes(const ChunkSize& size) const {
  const Core::Places places(core_, core_.anywhere(), size.rows);
  return static_cast<std::size_t>(std::max(places.end, StepPlaces(*this, places.wide, size).end) - places.x);
}

void Decoder::start(const PairBatch& batch, const Chunk& chunk, Workspace& w) const {
  w.now().clock.start(w.stream);
  const Core::Places places(core_, w.activations.data(), chunk.size.rows);
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
  head_.run(token.normed, tokens, TokenHead::Places(head_, own.head, chunk.size), w);
  w.now().clock.stop(w.stream);
}

}  // namespace relucent::cuda
