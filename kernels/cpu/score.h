#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/cpu/encoder.h"
#include "relucent/kernels/backend.h"

namespace relucent::cpu {

/// The workers that compute a batch, each with its own workspace.
struct Workers {
  std::size_t count = 1;
  /// Calls work(index, the worker's workspace) for every index below a count; returns when all have ended.
  std::function<void(std::size_t count, const Team::Work& work)> run;
};

/// Writes the logits of a batch, in its order. `group` is the memory for what all workers compute together. The bits of
/// the logits do not depend on the number of workers.
void score(const Encoder& encoder, const PairBatch& batch, const Workers& workers, Workspace& group,
           std::span<float> logits, const StopSignal& stop);

/// The same for an encoder with interaction. Texts among the candidates are encoded first.
void score(const Encoder& encoder, const InteractionBatch& batch, const Workers& workers, Workspace& group,
           std::span<float> logits, const StopSignal& stop);

/// Writes the contexts of texts, in their order: [texts][Encoder::context_size()].
void encode(const Encoder& encoder, std::span<const Segment> texts, const Workers& workers, Workspace& group,
            std::span<float> contexts, const StopSignal& stop);

/// The same for an encoder with exchanges: a logit per document of the batch.
void score_documents(const Encoder& encoder, const PairBatch& batch, std::span<const DocumentPassages> documents,
                     const Workers& workers, Workspace& group, std::span<float> logits, const StopSignal& stop);

}  // namespace relucent::cpu
