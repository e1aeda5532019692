#pragma once

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace relucent {

/// Throws Error `io`: "PATH: OPERATION: REASON; remedy", where the remedy follows from `error`, an errno value (too many
/// open files, no permission, full disk, out of memory ...).
[[noreturn]] void throw_system_error(const std::filesystem::path& path, std::string_view operation, int error);

/// The remedy for a failure whose text ends with the system's reason, as in "/index/_0.tis: opening: Too many open
/// files"; empty where it ends otherwise.
std::string_view remedy_in(std::string_view text);

/// Owns a file descriptor and closes it. One owner.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.number_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  void reset(int number = -1) noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }
  /// close(2)'s result: the last place where a failed write may be told.
  [[nodiscard]] int close() noexcept { return ::close(std::exchange(number_, -1)); }

 private:
  int number_ = -1;
};

}  // namespace relucent
