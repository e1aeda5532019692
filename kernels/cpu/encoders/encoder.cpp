#include "kernels/cpu/encoders/encoder.h"

#include "kernels/cpu/encoders/candidate_sets.h"
#include "kernels/cpu/encoders/causal.h"
#include "kernels/cpu/encoders/decoder.h"
#include "kernels/cpu/encoders/exchange.h"
#include "kernels/cpu/encoders/interaction.h"
#include "kernels/cpu/encoders/pair_encoder.h"
#include "kernels/cpu/encoders/texts.h"

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
    case EncoderKind::pair: return std::make_unique<PairEncoder>(source);
    case EncoderKind::decoder: return std::make_unique<Decoder>(source);
    case EncoderKind::causal: return std::make_unique<Causal>(source);
    case EncoderKind::set: return std::make_unique<CandidateSets>(source);
    case EncoderKind::interaction: return std::make_unique<Interaction>(source);
    case EncoderKind::exchange: return std::make_unique<Exchange>(source);
    case EncoderKind::texts: return std::make_unique<Texts>(source);
  }
  return nullptr;
}

}  // namespace relucent::cpu
