// The memory of a computation, and the workers that share it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cpu/memory.h"

namespace relucent::cpu {

/// What one kind of encoder needs in a workspace beyond what all need.
struct Scratch {
  virtual ~Scratch() = default;
};

/// Memory for a group's activations or for one worker's share of the work. Buffers grow to the largest size needed so
/// far and are reused. Layouts: see VectorKernels.
struct Workspace {
  // For a group.
  Buffer<float> x;        // activation: a block's input, then its output
  Buffer<float> inputs;   // activation: x before the first layer, for a convolution
  Buffer<float> context;  // operand of the output projection, in int16 and int8 still an activation: the heads' output
  Buffer<float> operand, token_scales;
  Buffer<float> rotations;    // per rotary scheme: cosines, then sines, [head size / 2][tokens of all panels]
  std::vector<float> turns;   // per rotary scheme: cosines, then sines, [positions][head size / 2]
  std::vector<float> biases;  // per table of relative positions: [heads][distances, see Core::biases_of()]
  std::size_t positions = 0;  // that turns and biases are made for

  // For a worker, or for a group whose workers share the features (after_heads_by_features).
  Buffer<float> wide;    // activation [intermediate] of some panels; of embeddings before their projection
  Buffer<float> gate;    // likewise
  Buffer<float> normed;  // activation: the input of a sub-block whose norm comes before
  Buffer<float> part_operand, part_scales, wide_operand, wide_scales;

  // For a worker.
  Buffer<float> head;         // [3 head size][stride]: query, key and value of one head, of a chunk's tokens
  Buffer<float> head_output;  // [head size][stride]
  Buffer<float> globals;      // [4 head size][stride]: query, key, value and output of a document's global tokens
  Buffer<float> masks;        // [document]
  Buffer<float> scores;
  Buffer<float> relative;  // products with relative positions: see RelativeProducts

  /// The encoder's own memory. A workspace serves one encoder, so all calls name the same type.
  template <typename Own>
  Own& own() {
    if (!own_) own_ = std::make_unique<Own>();
    return static_cast<Own&>(*own_);
  }

 private:
  std::unique_ptr<Scratch> own_;
};

/// The workers that compute a group: one thread alone, or all workers of a pool together.
struct Team {
  using Work = std::function<void(std::size_t index, Workspace& own)>;
  Workspace& group;
  std::size_t workers = 1;
  /// Calls work(index, the worker's workspace) for every index below a count; returns when all have ended.
  std::function<void(std::size_t count, const Work& work)> each;

  static Team alone(Workspace& workspace) {
    return {workspace, 1, [&workspace](std::size_t count, const Work& work) {
              for (std::size_t i = 0; i < count; ++i) work(i, workspace);
            }};
  }
};

}  // namespace relucent::cpu
