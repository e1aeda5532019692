#include "kernels/cpu/encoders/encoder.h"

namespace relucent::cpu {

void Encoder::score(const ScoringBatch&, std::span<float>, Team&, const StopSignal&) const {
  refuse_scores(FastPath::cpu, kind_);
}

void Encoder::encode(std::span<const Segment>, std::span<float>, Team&, const StopSignal&) const {
  refuse_texts(FastPath::cpu, kind_);
}

HiddenStates Encoder::hidden_states(const ScoringBatch&, Workspace&) const {
  refuse_hidden_states(FastPath::cpu, kind_);
}

std::unique_ptr<const Encoder> make_encoder(const EncoderSource& source) {
  switch (kind_of(source.description)) {
    case EncoderKind::pair: return make_pair_encoder(source);
    case EncoderKind::decoder: return make_decoder(source);
    case EncoderKind::causal: return make_causal(source);
    case EncoderKind::set: return make_candidate_sets(source);
    case EncoderKind::interaction: return make_interaction(source);
    case EncoderKind::exchange: return make_exchange(source);
    case EncoderKind::texts: return make_texts(source);
  }
  return nullptr;
}

}  // namespace relucent::cpu
