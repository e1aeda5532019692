// Decoders alone: query and document pass through one stack, each token seeing only those before it.

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {
namespace {

/// The query's keys and values are computed once for all candidates; the head reads a candidate's last token.
class Causal final : public CandidateEncoder {
 public:
  explicit Causal(const EncoderSource& source) : CandidateEncoder(EncoderKind::causal, source) {
    passes_ = {.token_in_group = false, .shares_query = true, .only_keys = true, .whole_layers = core_.layers().size()};
  }

 private:
  struct Kept : OneToken::Tokens {
    std::vector<float> states;  // of a call: the last tokens', [candidates][hidden]
  };

  void prepare(std::size_t candidates, Workspace& call) const override {
    call.own<Kept>().states.resize(candidates * hidden_);
  }

  void keep(const Group& group, const QueryStates*, std::size_t first, Workspace& call, Team& team) const override {
    float* const states = call.own<Kept>().states.data() + first * hidden_;
    for (std::size_t i = 0; i < group.sequences.size(); ++i) {
      const Sequence& sequence = group.sequences[i];
      core_.copy_tokens(team.group.x.data(), hidden_, sequence.first + group.tokens_of(sequence) - 1, 1,
                        states + i * hidden_, 1);
    }
  }

  void finish(const Segment&, const QueryStates*, std::size_t first, std::span<float> logits, Workspace& call,
              Workspace& own) const override {
    auto& t = own.own<Kept>();
    const float* const states = call.own<Kept>().states.data() + first * hidden_;
    float* const token =
        t.token.grow(core_.panels(core_.whole_vectors(logits.size())) * padded(hidden_) * kernels_.panel);
    for (std::size_t i = 0; i < logits.size(); ++i) core_.put_token(states + i * hidden_, token, hidden_, i);
    token_.head(logits, t, own);
  }
};

}  // namespace

std::unique_ptr<const Encoder> make_causal(const EncoderSource& source) { return std::make_unique<Causal>(source); }

}  // namespace relucent::cpu
