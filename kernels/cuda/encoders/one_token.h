// What pair encoder and decoder share: the attention of one token per sequence, and the head that reads the token. Host
// code.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/encoders/core.h"

namespace relucent::cuda {

/// For one token per sequence there are as many rows as candidates.
inline constexpr int kUsualCandidates = 128;

/// The attention of one token per sequence: W_K is applied to the queries, W_V and b_V after the sums.
class OneToken {
 public:
  struct Weights {
    PackedLinear query;              ///< [width, hidden]
    std::size_t key = 0, value = 0;  ///< [width, hidden]
    PackedLinear output;             ///< [hidden, width]; its bias includes the values'
  };
  /// Its matrices from `base` on; all but `partial` have one row per sequence.
  struct Places {
    Places(const OneToken& e, std::byte* base, const ChunkSize& size);

    std::byte *query, *absorbed, *mixed, *context, *end;
    float* partial;
  };

  /// `core` must outlive it. `sees_itself`: [CLS], and not a decoder's token.
  OneToken(Core& core, const Weights& weights, bool sees_itself);

  /// From the tokens' states [sequences, hidden] and x [rows, hidden], the states of what they see, to y
  /// [sequences, hidden], without bias_of_added().
  void run(const PairBatch& batch, const Chunk& chunk, const void* token, const void* x, const Places& places, void* y,
           Workspace& w) const;

 private:
  const Core& core_;
  bool sees_itself_;
  std::unique_ptr<Matmul> query_, absorbed_key_, value_, output_;
};

/// The head that reads one row per sequence.
class TokenHead {
 public:
  struct Places {
    Places(const TokenHead& e, std::byte* base, const ChunkSize& size);

    std::byte *steps[2], *end;
    float *pooled, *residual, *logits;
  };

  /// `core` must outlive it.
  TokenHead(Core& core, const EncoderDescription& description, const PackedWeights& weights);

  /// Computes the logits of states [rows, hidden].
  void run(const void* states, int rows, const Places& places, Workspace& w) const;
  /// Copies them to the chunk's results.
  void fetch(int rows, const Places& places, Workspace& w) const;

 private:
  /// One step of the head, or, as the last one, what comes before its output rows.
  struct Step {
    int size = 0;                                       // of its result
    std::unique_ptr<Matmul> dense = {}, residual = {};  // null: none
    HeadStepWork work = {};
  };

  const Core& core_;
  std::vector<Step> steps_;             // all but those that head_ computes
  std::unique_ptr<Matmul> last_dense_;  // before head_; null: none
  HeadWork head_;
  std::size_t logit_bytes_;                                               // of a candidate
  int last_size_ = core_.hidden(), most_head_features_ = core_.hidden();  // what head_ takes; the most of any step
};

}  // namespace relucent::cuda
