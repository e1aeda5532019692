// An encoder on the CPU, as the backend sees it.
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/encoders/workspace.h"
#include "kernels/cpu/vector_kernels.h"
#include "kernels/pair_form.h"
#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// What an encoder is made of.
struct EncoderSource {
  const EncoderDescription& description;
  const EncoderWeights& weights;
  Arithmetic arithmetic;
  const VectorKernels& kernels;
};

/// An encoder's weights, packed for the CPU's kernels, and what it computes. Immutable; callers provide workers and
/// memory. Results depend neither on the rest of a batch nor on how many workers share it. Throws Error as Backend
/// does; `unsupported` for what the encoder does not override.
class Encoder {
 public:
  virtual ~Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Writes the logits of a batch that check_batch() has passed, in its order. The workspace of `everybody` is for what
  /// all workers compute together.
  virtual void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody, const StopSignal& stop) const;
  /// Writes the states that derive from texts, or the vectors of their tokens, in the texts' order.
  virtual void encode(std::span<const Segment> texts, std::span<float> states, Team& everybody,
                      const StopSignal& stop) const;
  /// Computes every block for every token.
  virtual HiddenStates hidden_states(const ScoringBatch& batch, Workspace& workspace) const;

 protected:
  explicit Encoder(EncoderKind kind) : kind_(kind) {}

 private:
  EncoderKind kind_;
};

/// The encoder that computes a description which require_features() accepts.
std::unique_ptr<const Encoder> make_encoder(const EncoderSource& source);

// The encoders, each in a file of its own: of EncoderKind::pair and so on.
std::unique_ptr<const Encoder> make_pair_encoder(const EncoderSource& source);
std::unique_ptr<const Encoder> make_decoder(const EncoderSource& source);
std::unique_ptr<const Encoder> make_causal(const EncoderSource& source);
std::unique_ptr<const Encoder> make_candidate_sets(const EncoderSource& source);
std::unique_ptr<const Encoder> make_interaction(const EncoderSource& source);
std::unique_ptr<const Encoder> make_exchange(const EncoderSource& source);
std::unique_ptr<const Encoder> make_texts(const EncoderSource& source);

}  // namespace relucent::cpu
