// Encoders that score documents, whose passages may exchange pivots after each block.
#pragma once

#include <vector>

#include "kernels/cpu/encoders/core.h"

namespace relucent::cpu {

/// The passages of a document are candidates in one group. Each pivot is the mean of some of their tokens' states;
/// pivots pass through a layer of their own, if there are exchanges, and the tokens take up the result. A head pools
/// the last pivots.
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
    /// [hidden][2 heads]: all heads' `weighing`, then all heads' `values`; without attention `values` alone.
    std::vector<float> vectors;
    double bias = 0;  // of a group that is not empty
    /// What passes through layers with the pivots: rows [hidden], the vector itself and one per position.
    std::vector<float> vector, positions;
    std::vector<Core::Layer> layers;
  };
  struct Document {
    std::span<const Sequence> passages;
    std::span<const Pivots> pivots;
  };
  /// Pivots of some documents: a sequence per document and group that has any.
  struct PivotGroup;
  struct Memory : Scratch {
    Workspace pivots;        // for the group of a group's pivots; behind their block for what their tokens take up
    Workspace pooled;        // for pivots that pass through layers which pool them
    Buffer<float> gathered;  // of a worker: a run's queries, keys, values and outputs
    Buffer<float> rows;      // of a worker: a sequence of pivots, [hidden][stride]
  };

  void score_documents(const PairBatch& batch, std::span<const Document> documents, std::span<float> logits, Team& team,
                       const StopSignal& stop) const;
  PivotGroup pivots_of(const Group& group, std::span<const Document> documents) const;
  std::size_t keep_pivots_tokens(PivotGroup& pivots, Team& team) const;
  Core::Layer pack_layer(const LayerWeights& from, const relucent::Layer& form) const;
  /// Makes the pivots' states, the activation of the pivots' workspace, and its operand from those of their tokens.
  void gather_pivots(const PivotGroup& pivots, Team& team) const;
  /// Lets the pivots pass through a layer, and their tokens take up the result.
  void exchange(const PivotLayer& layer, const PivotGroup& pivots, const Group& group, Team& team) const;
  void attend_pivots(const PivotGroup& pivots, const Core::Chunk& chunk, const float* rows, float* output,
                     std::size_t stride, Workspace& own) const;
  void combine(const PackedLinear& linear, const PivotGroup& pivots, const Group& group, Team& team) const;
  /// Lets a layer of pivots work on the activation of the team's group, whose operand is packed.
  void run_layer(const Core::Layer& layer, const PivotGroup& pivots, Team& team) const;
  /// What a sequence of pivots adds to its document's score.
  double pool_by_attention(const Pooling& pooling, const Sequence& pivots, const float* x, Workspace& own) const;
  double pool_maximum(const Pooling& pooling, const Sequence& pivots, const float* x) const;
  /// The same of all sequences of group `number` of the head, added to the `sums` of their documents.
  void pool_by_layers(std::size_t number, const PivotGroup& pivots, std::span<double> sums, Team& team) const;

  Core core_;
  const VectorKernels& kernels_ = core_.kernels();
  const std::size_t hidden_ = core_.hidden(), head_size_ = core_.head_size();
  const PivotPooling::Kind pooling_ = core_.description().head.pivots->kind;
  std::vector<PivotLayer> pivot_layers_;  // one per block, or none
  std::vector<Pooling> poolings_;         // [groups of the head]
  double bias_ = 0;                       // of every document's score
};

}  // namespace relucent::cpu
