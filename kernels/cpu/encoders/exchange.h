// Encoders that score documents, whose passages exchange pivots after each block.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

/// The passages of a document are candidates in one group. Each pivot is the mean of some of their tokens' states;
/// pivots pass through a layer of their own, and the tokens take up the result. A head reads the last pivots.
class Exchange final : public Encoder {
 public:
  explicit Exchange(const EncoderSource& source);

  /// Writes a logit per document of the batch.
  void score(const ScoringBatch& batch, std::span<float> logits, Team& everybody,
             const StopSignal& stop) const override;

 private:
  /// The layer of pivots that follows a block, and what their tokens take up of it.
  struct PivotLayer {
    Core::Layer layer;
    PackedLinear combine;  // of a token and its pivot; without features: the tokens stay as they are
  };
  /// What a group of pivots adds to a score; see kernels/folded_head.h.
  struct Pooling {
    std::vector<float> vectors;  // [hidden][2 heads]: of all heads' `weighing`, then of all heads' `values`
    double bias = 0;             // of a group that is not empty
  };
  struct Document {
    std::span<const Sequence> passages;
    std::span<const Pivots> pivots;
  };
  /// Pivots of some documents: a sequence per document and group that has any.
  struct PivotGroup;
  struct Memory : Scratch {
    Workspace pivots;        // for the group of a group's pivots; behind their block for what their tokens take up
    Buffer<float> gathered;  // of a worker: a run's queries, keys, values and outputs
    Buffer<float> rows;      // of a worker: a sequence of pivots, [hidden][stride]
  };

  void score_documents(const PairBatch& batch, std::span<const Document> documents, std::span<float> logits, Team& team,
                       const StopSignal& stop) const;
  PivotGroup pivots_of(const Group& group, std::span<const Document> documents) const;
  std::size_t keep_pivots_tokens(PivotGroup& pivots, Team& team) const;
  /// Computes the pivots' states, the activation of the pivots' workspace, from those of their tokens.
  void exchange(const PivotLayer& layer, const PivotGroup& pivots, const Group& group, Team& team) const;
  void attend_pivots(const PivotGroup& pivots, const Core::Chunk& chunk, const float* rows, float* output,
                     std::size_t stride, Workspace& own) const;
  void combine(const PackedLinear& linear, const PivotGroup& pivots, const Group& group, Team& team) const;
  /// What a sequence of pivots adds to its document's score.
  double pool_pivots(const Pooling& pooling, const Sequence& pivots, const float* x, Workspace& own) const;

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), head_size_ = core_.head_size();
  std::vector<PivotLayer> pivot_layers_;  // one per block
  std::vector<Pooling> poolings_;         // [groups of the head]
  double bias_ = 0;                       // of every document's score
};

}  // namespace relucent::cpu
