#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/file/unique_fd.h"

namespace relucent {

/// A folder that appears under its name whole or not at all: it is filled under another name beside it, which
/// the destructor removes unless publish() was called. All functions throw Error `io` where the system
/// refuses.
class NewFolder {
 public:
  /// Throws Error `usage` where `target` exists.
  explicit NewFolder(const std::filesystem::path& target);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// A file of the folder, written from front to back.
  class File {
   public:
    File(const NewFolder& folder, std::string_view name);

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    /// Brings the bytes to the disk; a file that is not finished is not to be relied on.
    void finish();

   private:
    std::filesystem::path path_;
    UniqueFd file_;
  };

  void copy(const std::filesystem::path& file);  ///< under its own name
  void publish();

 private:
  std::filesystem::path target_, draft_;
  bool published_ = false;
};

}  // namespace relucent
