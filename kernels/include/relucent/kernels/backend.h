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
/// document; EncoderDescription defines the token types.
struct ScoringBatch {
  std::int32_t cls_id = 0;
  std::span<const std::int32_t> query;                       ///< |Q| >= 1 ids, the last one [SEP]; no [CLS]
  std::span<const std::span<const std::int32_t>> documents;  ///< each |D| >= 1 ids, the last one [SEP]
};

/// All hidden states of one (query, document) pair. For tests and diagnosis; not optimized.
struct HiddenStates {
  std::vector<std::vector<float>> cls;  ///< [layers][hidden]: [CLS] after each block
  std::vector<float> query_last;        ///< [|Q| * hidden] after the last block
  std::vector<float> document_last;     ///< [|D| * hidden] after the last block
  float logit = 0;
};

struct BackendInfo {
  std::string device;  ///< "ref", "cpu", "cuda:0"; "cuda:0,1" if queries are spread over several GPUs
  Precision precision = Precision::fp32;
  /// What was chosen at run time: "plain", "avx2", "avx512", "avx512_bf16", "amx", "sm_90".
  std::string instruction_set;
  int threads = 1;
  std::string device_name;  ///< of a GPU: "NVIDIA H100 80GB HBM3"
  std::string why_no_gpu;   ///< why device = "auto" chose the CPU; empty if it did not
  /// Of a GPU: the algorithms that cublasLt uses, a line per form of product and by number of rows. For diagnosis.
  std::vector<std::string> products;
};

/// The cost of a call on an accelerator; all zeros without one.
struct DeviceCost {
  std::chrono::nanoseconds time{0};  ///< from ids to logits by the device's own clock, including both copies
  std::uint64_t bytes = 0;           ///< peak device memory of the call's activations, without the weights
};

struct BackendOptions {
  Device device;
  Precision precision = Precision::automatic;
  int threads = 0;              ///< 0: one per core that this process may use
  std::string instruction_set;  ///< empty: the best one available; tests name one to force it
};

/// Scores batches with one encoder's weights. Thread-safe: any number of threads may call score() concurrently.
/// A pair's logit depends only on that pair: the bits do not change with the rest of the batch, the order or
/// the number of threads.
class RELUCENT_API Backend {
 public:
  virtual ~Backend() = default;

  virtual const BackendInfo& info() const noexcept = 0;

  /// Writes one raw logit per document, in the given order. logits.size() == batch.documents.size().
  /// Throws Error: `usage` for an id outside the vocabulary, an empty sequence or more positions than the
  /// table has; `deadline` or `interrupted` when `stop` is due. The contents of `logits` are then unspecified.
  virtual void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop = {}) const = 0;

  /// score() that also reports its cost on the device.
  virtual DeviceCost score_with_cost(const ScoringBatch& batch, std::span<float> logits,
                                     const StopSignal& stop = {}) const {
    score(batch, logits, stop);
    return {};
  }

  virtual HiddenStates hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                                     std::span<const std::int32_t> document) const = 0;
};

/// Creates the backend that `options` selects and converts the weights to its own form; the views may be released
/// afterwards. Throws Error: `usage` for an unknown device or instruction set, `device` for an absent one,
/// `unsupported` for a description or precision the backend cannot run, `invalid_data` for shapes that do not match.
RELUCENT_API std::unique_ptr<Backend> create_backend(const EncoderDescription& description,
                                                     const EncoderWeights& weights, const BackendOptions& options);

/// One line for people: "cpu (amx, bf16, 2 threads)", "cuda:0 (NVIDIA H100 80GB HBM3, sm_90, fp16)".
RELUCENT_API std::string describe(const BackendInfo& info);

}  // namespace relucent
