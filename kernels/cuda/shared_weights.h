// Packed weights that several encoders may have in common. Host code.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "kernels/cuda/device.h"

namespace relucent::cuda {

/// The packed weights of one or more encoders, for example of one checkpoint with several windows: once in host memory,
/// and once on each device that computes with them. Thread-safe.
class SharedWeights {
 public:
  /// Those of this process with these bytes, or new ones.
  static std::shared_ptr<SharedWeights> of(std::vector<std::byte> bytes);

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Their copy on the current device, `device`, which takes memory there unless another encoder has it. To be released
  /// with that device current. Throws Error `device`.
  std::shared_ptr<const DeviceMemory> on(int device);
  /// Whoever asks next gets a new copy: the device has failed, and this one may be lost.
  void forget(int device);

 private:
  explicit SharedWeights(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  const std::vector<std::byte> bytes_;
  std::mutex mutex_;
  std::map<int, std::weak_ptr<const DeviceMemory>> copies_;  // by device
};

}  // namespace relucent::cuda
