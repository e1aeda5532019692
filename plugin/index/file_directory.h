#pragma once

#include <Lucene.h>

#include <Directory.h>

#include <filesystem>

namespace relucent {

/// An index folder whose files are opened by the operating system's own calls. Lucene++'s directories go through
/// Boost.Filesystem, which throws where the environment names a locale that is not installed, cannot name files
/// outside ASCII in the locale C, and does not say why a file cannot be opened. This one reads nothing of the
/// environment and changes nothing of the process. Open files may be read by many threads at once.
///
/// Errors are Lucene++'s, because it cleans up after its own alone: FileNotFoundException for a file that is missing,
/// IOException for what the system refuses (permission, too many open files), whose text ends with the system's reason,
/// so that with_errors() finds the remedy.
class FileDirectory : public Lucene::Directory {
 public:
  /// Throws Error `io` where the folder's name is not UTF-8.
  /// @param locks where a writer that is given this directory locks; null: Lucene++'s NativeFSLockFactory
  explicit FileDirectory(const std::filesystem::path& folder, const Lucene::LockFactoryPtr& locks = {});

  const std::filesystem::path& folder() const { return folder_; }

  void close() override;
  Lucene::String getLockID() override;
  Lucene::String toString() override;
  Lucene::HashSet<Lucene::String> listAll() override;
  bool fileExists(const Lucene::String& name) override;
  std::uint64_t fileModified(const Lucene::String& name) override;
  void touchFile(const Lucene::String& name) override;
  void deleteFile(const Lucene::String& name) override;
  std::int64_t fileLength(const Lucene::String& name) override;
  void sync(const Lucene::String& name) override;
  Lucene::IndexOutputPtr createOutput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name, std::int32_t buffer_size) override;

 private:
  std::filesystem::path path_of(const Lucene::String& name) const;

  std::filesystem::path folder_;
  Lucene::String name_;
};

}  // namespace relucent
