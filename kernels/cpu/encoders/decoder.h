// Encoders with a decoder of one token: query and document pass through one stack, the token through a second one.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/one_token.h"

namespace relucent::cpu {

/// The token's own attention has one key, and so is its value. Per layer and head it reads each state of the first
/// stack twice.
class Decoder final : public OneToken {
 public:
  explicit Decoder(const EncoderSource& source);

 private:
  struct Step {
    NormParameters own_norm;
    PackedLinear own_value, own_output;
    NormParameters norm;
    Heads heads;
    AfterHeads after;
    bool sees_query = true, sees_document = true;
  };
  /// A candidate's states behind the first stack, [hidden][stride]; the first `query` tokens are the query's.
  struct States {
    std::size_t tokens = 0, stride = 0, query = 0;
    Buffer<float> rows;
  };
  struct Kept : Tokens {
    std::vector<States> states;  // of a call
  };

  void prepare(std::size_t candidates, Workspace& call) const override;
  void keep(const Group& group, const QueryStates* shared, std::size_t first, Workspace& call,
            Team& team) const override;
  void finish(const Segment& token, const QueryStates* shared, std::size_t first, std::span<float> logits,
              Workspace& call, Workspace& own) const override;

  std::vector<Step> steps_;  // one per layer
  NormParameters last_norm_;
};

}  // namespace relucent::cpu
