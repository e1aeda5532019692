#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace relucent::cpu {

/// Memory aligned to a cache line that only grows, in huge pages where it is large, which many systems give only to
/// those who ask. Growing sets all of it to zero: it is never uninitialized, because kernels also compute the lanes
/// beyond the last token, whose values must be finite.
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
      const std::size_t bytes = size * sizeof(T);
      const auto alignment = std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
      data_ = {static_cast<T*>(::operator new(bytes, alignment)), Free{alignment}};
      // Advice: without huge pages, the system refuses it.
      if (bytes >= kHugePage) static_cast<void>(madvise(data_.get(), bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
      std::memset(static_cast<void*>(data_.get()), 0, bytes);
      size_ = size;
    }
    return data_.get();
  }

 private:
  static constexpr std::size_t kCacheLine = 64, kHugePage = std::size_t{1} << 21;
  struct Free {
    std::align_val_t alignment{kCacheLine};
    void operator()(T* data) const noexcept { ::operator delete(data, alignment); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace relucent::cpu
