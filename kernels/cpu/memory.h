#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace relucent::cpu {

/// Memory aligned to a cache line that only grows; growing sets all of it to zero. It is never uninitialized, because
/// kernels also compute the lanes beyond the last token, whose values must be finite.
template <typename T>
class Buffer {
 public:
  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }

  /// At least `size` elements; returns data().
  T* grow(std::size_t size) {
    if (size > size_) {
      data_.reset();
      size_ = 0;
      data_.reset(static_cast<T*>(::operator new(size * sizeof(T), kAlignment)));
      std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
      size_ = size;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* data) const noexcept { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace relucent::cpu
