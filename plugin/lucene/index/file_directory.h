#pragma once

#include <Lucene.h>

#include <Directory.h>

#include <filesystem>

namespace relucent {

/// An index folder accessed through system calls. Lucene++'s directories use Boost.Filesystem, which throws if the
/// environment names a locale that is not installed, cannot handle file names outside ASCII in the locale C, and does
/// not report why a file cannot be opened. This class does not depend on the environment and does not change the
/// process. Many threads may read open files concurrently.
///
/// It throws Lucene++'s exceptions, because Lucene++ cleans up only after those: FileNotFoundException for a missing
/// file, IOException for a refusal by the system (permission, too many open files). The text of the latter ends with
/// the system's reason, so that with_errors() finds the remedy.
class FileDirectory : public Lucene::Directory {
 public:
  /// Throws Error `io` if the folder's name is not UTF-8.
  /// @param locks the lock factory for writers that use this directory; null: Lucene++'s NativeFSLockFactory
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

/// An index folder's name as a Lucene++ string, which must be Unicode. Throws Error `io` for a name that is not UTF-8,
/// because Lucene++ would use a different folder.
Lucene::String to_lucene_folder(const std::filesystem::path& folder);
/// The folder of a directory of Lucene++'s or ours; empty if it is not in the file system.
std::filesystem::path folder_of(const Lucene::DirectoryPtr& directory);

}  // namespace relucent
