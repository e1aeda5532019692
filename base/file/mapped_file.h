#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace relucent {

/// A file mapped read-only for as long as the object lives. Thread-safe.
class MappedFile {
 public:
  /// How the file will be read. `random`: the system reads nothing ahead.
  enum class Access { any, random };

  /// Throws Error `io` if the file is missing, not a regular file or not readable.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path, Access access = Access::any);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace relucent
