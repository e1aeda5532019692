#include "kernels/cuda/shared_weights.h"

#include <algorithm>
#include <utility>

namespace relucent::cuda {

std::shared_ptr<SharedWeights> SharedWeights::of(std::vector<std::byte> bytes) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<SharedWeights>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& one) { return one.expired(); });
  for (const auto& one : all) {
    if (auto known = one.lock(); known != nullptr && known->bytes_ == bytes) return known;
  }
  std::shared_ptr<SharedWeights> made(new SharedWeights(std::move(bytes)));
  all.push_back(made);
  return made;
}

std::shared_ptr<const DeviceMemory> SharedWeights::on(int device) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const DeviceMemory>& copy = copies_[device];
  if (auto known = copy.lock()) return known;
  auto made = std::make_shared<const DeviceMemory>(device, bytes_.size(), "the model's weights");
  // On a stream, then wait for it: a plain cudaMemcpy may still be running when our own streams start.
  Stream upload(device);
  upload.copy_to_device(made->data(), bytes_.data(), bytes_.size());
  upload.wait();
  copy = made;
  return made;
}

void SharedWeights::forget(int device) {
  const std::lock_guard lock(mutex_);
  copies_.erase(device);
}

}  // namespace relucent::cuda
