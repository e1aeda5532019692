#include "kernels/cuda/encoders/encoder.h"

#include "kernels/cuda/encoders/exchange.h"
#include "kernels/cuda/encoders/interaction.h"
#include "kernels/cuda/encoders/pair_encoder.h"

namespace relucent::cuda {

std::unique_ptr<const Encoder> make_encoder(int device, const EncoderDescription& description,
                                            const PackedWeights& weights, bool tf32) {
  switch (kind_of(description)) {
    case EncoderKind::pair: return std::make_unique<PairEncoder>(device, description, weights, tf32);
    case EncoderKind::interaction: return std::make_unique<Interaction>(device, description, weights, tf32);
    case EncoderKind::exchange: return std::make_unique<Exchange>(device, description, weights, tf32);
    case EncoderKind::decoder: break;  // refused by supports() in cuda_backend.cpp
  }
  return nullptr;
}

}  // namespace relucent::cuda
