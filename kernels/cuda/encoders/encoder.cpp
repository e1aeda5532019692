#include "kernels/cuda/encoders/encoder.h"

#include "kernels/cuda/encoders/decoder.h"
#include "kernels/cuda/encoders/exchange.h"
#include "kernels/cuda/encoders/interaction.h"
#include "kernels/cuda/encoders/pair_encoder.h"
#include "kernels/cuda/encoders/texts.h"

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

std::unique_ptr<const Encoder> make_encoder(int device, const EncoderDescription& description,
                                            const PackedWeights& weights, bool tf32) {
  switch (kind_of(description)) {
    case EncoderKind::pair:
    case EncoderKind::set: return std::make_unique<PairEncoder>(device, description, weights, tf32);
    case EncoderKind::interaction: return std::make_unique<Interaction>(device, description, weights, tf32);
    case EncoderKind::exchange: return std::make_unique<Exchange>(device, description, weights, tf32);
    case EncoderKind::texts: return std::make_unique<Texts>(device, description, weights, tf32);
    case EncoderKind::decoder: return std::make_unique<Decoder>(device, description, weights, tf32);
    case EncoderKind::causal: break;  // refused by require_features()
  }
  return nullptr;
}

}  // namespace relucent::cuda
