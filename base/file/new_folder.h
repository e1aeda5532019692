#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/file/unique_fd.h"

namespace relucent {

/// Creates a folder atomically: it is filled under a temporary name next to its target and renamed by publish().
/// Without publish(), the destructor removes it. All functions throw Error `io` if the system refuses.
class NewFolder {
 public:
  /// Throws Error `usage` if `target` exists.
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
    /// Syncs the bytes to disk. Without it the file may be incomplete.
    void finish();

   private:
    std::filesystem::path path_;
    UniqueFd file_;
  };

  void copy(const std::filesystem::path& file);  ///< under its own name
  /// Copies the rest of an open file under `file`'s name, whether or not `file` still exists.
  void copy(int descriptor, const std::filesystem::path& file);
  /// Where the folder is until publish().
  const std::filesystem::path& draft() const noexcept { return draft_; }
  void publish();

 private:
  std::filesystem::path target_, draft_;
  bool published_ = false;
};

}  // namespace relucent
