#pragma once

#include <unistd.h>

#include <utility>

namespace relucent {

/// Owns a file descriptor and closes it. One owner; not thread-safe.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int descriptor) noexcept : descriptor_(descriptor) {}
  UniqueFd(UniqueFd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.descriptor_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

  void reset(int descriptor = -1) noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }

  /// Closes the descriptor and returns close(2)'s result: a network file system's last chance to report a failed write.
  [[nodiscard]] int close() noexcept { return ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_ = -1;
};

}  // namespace relucent
