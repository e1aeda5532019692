#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relucent/device.h"
#include "relucent/export.h"
#include "relucent/kernels/encoder.h"
#include "relucent/stop.h"

namespace relucent {

/// One query and its candidates as token ids. Positions are 0 for [CLS], 1.. for the query, 1+|Q|.. for each
/// document; token types as EncoderDescription says.
struct ScoringBatch {
  std::int32_t cls_id = 0;
  std::span<const std::int32_t> query;                       ///< |Q| >= 1 ids, the last one [SEP]; no [CLS]
  std::span<const std::span<const std::int32_t>> documents;  ///< each |D| >= 1 ids, the last one [SEP]
};

/// Hidden states of one (query, document) pair, nothing skipped. For tests and diagnosis, not for speed.
struct HiddenStates {
  std::vector<std::vector<float>> cls;  ///< [layers][hidden]: [CLS] after each block
  std::vector<float> query_last;        ///< [|Q| * hidden] after the last block
  std::vector<float> document_last;     ///< [|D| * hidden] after the last block
  float logit = 0;
};

struct BackendInfo {
  std::string device;  ///< "ref", "cpu", "cuda:0"; "cuda:0,1" where queries are spread over several GPUs
  Precision precision = Precision::fp32;
  /// What was chosen at run time: "plain", "avx2", "avx512", "avx512_bf16", "amx", "sm_90".
  std::string instruction_set;
  int threads = 1;
  std::string device_name;  ///< of a GPU: "NVIDIA H100 80GB HBM3"
  std::string why_no_gpu;   ///< why device = "auto" took the CPU; empty where it did not
};

/// What a call cost on an accelerator; zeros where there is none.
struct DeviceCost {
  std::chrono::nanoseconds time{0};  ///< from the ids to the logits by the device's own clock, both copies included
  std::uint64_t bytes = 0;  ///< memory of the device that the call's activations took at most; weights not counted
};

struct BackendOptions {
  Device device;
  Precision precision = Precision::automatic;
  int threads = 0;              ///< 0: as many as this process may use
  std::string instruction_set;  ///< empty: the best the machine has; for tests: a level to force
};

/// Scores batches with one encoder's weights. Thread-safe: any number of threads may call score() at once.
/// A pair's logit depends on that pair alone: bit-identical whatever else is in the batch, in any order, on
/// any number of threads.
class RELUCENT_API Backend {
 public:
  virtual ~Backend() = default;

  virtual const BackendInfo& info() const noexcept = 0;

  /// Writes one raw logit a document, in the order given. logits.size() == batch.documents.size().
  /// Throws Error: `usage` for an id outside the vocabulary, an empty sequence or more positions than the
  /// table has; `deadline` or `interrupted` when `stop` is due. Nothing is promised about `logits` then.
  virtual void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop = {}) const = 0;

  /// score() with an account of what it cost on the device.
  virtual DeviceCost score_with_cost(const ScoringBatch& batch, std::span<float> logits,
                                     const StopSignal& stop = {}) const {
    score(batch, logits, stop);
    return {};
  }

  virtual HiddenStates hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                                     std::span<const std::int32_t> document) const = 0;
};

/// Makes the backend that `options` names, with the weights converted to its own form (the views may go away
/// afterwards). Throws Error: `usage` for an unknown instruction set, `device` for one that is absent,
/// `unsupported` for a description or precision it cannot run, `invalid_data` for shapes that do not fit.
RELUCENT_API std::unique_ptr<Backend> create_backend(const EncoderDescription& description,
                                                     const EncoderWeights& weights, const BackendOptions& options);

/// One line for people: "cpu (amx, bf16, 2 threads)", "cuda:0 (NVIDIA H100 80GB HBM3, sm_90, fp16)".
RELUCENT_API std::string describe(const BackendInfo& info);

}  // namespace relucent
