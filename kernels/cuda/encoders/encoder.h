// An encoder on one device, as the GPU that holds it sees it. Host code; callers make the device current on their
// thread first.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/encoders/workspace.h"
#include "kernels/cuda/weights.h"
#include "kernels/pair_form.h"
#include "relucent/kernels/backend.h"

namespace relucent::cuda {

/// Enough rows to fill any GPU, few enough that their activations (300 MB with 384 features in 16 bits) leave room for
/// other data.
inline constexpr std::size_t kMaxRows = 65'536;

/// What an encoder is made of.
struct EncoderSource {
  int device;
  const EncoderDescription& description;  ///< must outlive the encoder
  const PackedWeights& weights;           ///< of which there is a copy on the device
  bool tf32;
};

/// An encoder's weights on the device, its products, and the sequence of kernels for a batch. Immutable, shared by
/// threads. Throws Error as Backend does; `unsupported` for what the encoder does not override.
class Encoder {
 public:
  virtual ~Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Room for `rows` rows, at most kMaxRows, and their tables, but at least for the longest possible input.
  virtual ChunkSize room_for(std::size_t rows) const = 0;
  /// The bytes of a workspace with that room.
  virtual WorkspaceBytes bytes_of(const ChunkSize& room) const = 0;
  /// Runs every kernel once: the driver loads code when it first runs. Sets `w.records`.
  virtual void warm_up(Workspace& w) const = 0;
  /// MatmulLibrary::algorithms()
  virtual std::vector<std::string> algorithms() const = 0;

  /// Writes the logits of a batch that check_batch() has passed.
  virtual void score(const ScoringBatch& batch, std::span<float> logits, BorrowedWorkspace& borrowed,
                     const StopSignal& stop, DeviceCost& cost) const;
  /// Writes the states that derive from texts, or their tokens' vectors.
  virtual void encode(std::span<const relucent::Segment> texts, std::span<float> states, BorrowedWorkspace& borrowed,
                      const StopSignal& stop, DeviceCost& cost) const;
  /// Computes all hidden states of one candidate and waits for them.
  virtual HiddenStates hidden_states(const ScoringBatch& batch, Workspace& w) const;

 protected:
  explicit Encoder(EncoderKind kind) : kind_(kind) {}

 private:
  EncoderKind kind_;
};

/// The encoder that computes a description which require_features() accepts. Throws Error `device`.
std::unique_ptr<const Encoder> make_encoder(const EncoderSource& source);

// The encoders, each in a file of its own: of EncoderKind::pair and so on.
std::unique_ptr<const Encoder> make_pair_encoder(const EncoderSource& source);
std::unique_ptr<const Encoder> make_decoder(const EncoderSource& source);
std::unique_ptr<const Encoder> make_interaction(const EncoderSource& source);
std::unique_ptr<const Encoder> make_exchange(const EncoderSource& source);
std::unique_ptr<const Encoder> make_texts(const EncoderSource& source);

}  // namespace relucent::cuda
