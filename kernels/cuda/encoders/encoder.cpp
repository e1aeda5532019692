#include "kernels/cuda/encoders/encoder.h"

namespace relucent::cuda {

void Encoder::score(const ScoringBatch&, std::span<float>, BorrowedWorkspace&, const StopSignal&, DeviceCost&) const {
  refuse_scores(FastPath::cuda, kind_);
}

void Encoder::encode(std::span<const relucent::Segment>, std::span<float>, BorrowedWorkspace&, const StopSignal&,
                     DeviceCost&) const {
  refuse_texts(FastPath::cuda, kind_);
}

HiddenStates Encoder::hidden_states(const ScoringBatch&, Workspace&) const {
  refuse_hidden_states(FastPath::cuda, kind_);
}

std::unique_ptr<const Encoder> make_encoder(const EncoderSource& source) {
  switch (kind_of(source.description)) {
    case EncoderKind::pair:
    case EncoderKind::set: return make_pair_encoder(source);
    case EncoderKind::interaction: return make_interaction(source);
    case EncoderKind::exchange: return make_exchange(source);
    case EncoderKind::texts: return make_texts(source);
    case EncoderKind::decoder: return make_decoder(source);
    case EncoderKind::causal: break;  // refused by require_features()
  }
  return nullptr;
}

}  // namespace relucent::cuda
