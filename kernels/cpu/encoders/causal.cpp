#include "kernels/cpu/encoders/causal.h"

namespace relucent::cpu {

Causal::Causal(const EncoderSource& source)
    : Encoder(EncoderKind::causal),
      core_(source),
      token_(core_, source),
      passes_{.token_in_group = false, .shares_query = true, .only_keys = true, .whole_layers = core_.layers().size()} {
}

void Causal::prepare(std::size_t candidates, Workspace& call) const {
  call.own<Kept>().states.resize(candidates * hidden_);
}

void Causal::keep(const Group& group, const QueryStates*, std::size_t first, Workspace& call, Team& team) const {
  float* const states = call.own<Kept>().states.data() + first * hidden_;
  for (std::size_t i = 0; i < group.sequences.size(); ++i) {
    const Sequence& sequence = group.sequences[i];
    core_.copy_tokens(team.group.x.data(), hidden_, sequence.first + group.tokens_of(sequence) - 1, 1,
                      states + i * hidden_, 1);
  }
}

void Causal::finish(const Segment&, const QueryStates*, std::size_t first, std::span<float> logits, Workspace& call,
                    Workspace& own) const {
  auto& t = own.own<Kept>();
  const float* const states = call.own<Kept>().states.data() + first * hidden_;
  float* const token =
      t.token.grow(core_.panels(core_.whole_vectors(logits.size())) * padded(hidden_) * core_.kernels().panel);
  for (std::size_t i = 0; i < logits.size(); ++i) core_.put_token(states + i * hidden_, token, hidden_, i);
  token_.head(logits, t, own);
}

}  // namespace relucent::cpu
