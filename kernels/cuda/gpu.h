// One GPU with an encoder on it, shared by any number of threads and set up again after a failure. Host code.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/encoders/encoder.h"
#include "relucent/kernels/backend.h"
#include "relucent/stop.h"

namespace relucent::cuda {

class Gpu {
 public:
  /// `description` and `weights` must outlive the object. The weights are on the device immediately. Throws Error
  /// `device`.
  Gpu(int device, const EncoderDescription& description, const PackedWeights& weights, bool tf32);

  int device() const noexcept { return device_; }
  /// Calls currently in score() or encode().
  int in_flight() const noexcept { return in_flight_; }
  /// Whether a call failed in the last seconds: others should go to another GPU first.
  bool failed_lately() const noexcept;
  /// Fills in `products` and `launches`. Throws Error `device`.
  void describe(BackendInfo& info);

  /// After an Error `device` it releases everything on the GPU; the next call sets it up again.
  DeviceCost score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop);
  DeviceCost encode(std::span<const relucent::Segment> texts, std::span<float> states, const StopSignal& stop);
  HiddenStates hidden_states(const ScoringBatch& batch);

 private:
  /// Everything that a failure invalidates: the weights on the device and the workspaces.
  class State;
  class Borrowed;

  std::shared_ptr<State> state();
  /// A new one. Whichever thread releases it last, it is destroyed in the device's context.
  std::shared_ptr<State> make_state() const;
  void forget(const std::shared_ptr<State>& failed);
  template <typename Work>
  auto on_device(const Work& work);
  /// Calls work(state, borrowed workspace, cost).
  template <typename Work>
  DeviceCost serve(const StopSignal& stop, const Work& work);

  int device_;
  const EncoderDescription& description_;
  const PackedWeights& weights_;
  bool tf32_;
  std::atomic<int> in_flight_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> failed_at_ = std::chrono::steady_clock::time_point();
  std::mutex mutex_;
  std::shared_ptr<State> state_;  // guarded by mutex_
};

}  // namespace relucent::cuda
