#pragma once

#include <LockFactory.h>

#include <filesystem>

namespace relucent {

/// Locks an index folder for one writer through a system lock on the file write.lock. Live writers exclude each other;
/// locks of dead processes are ignored. Lucene++'s writers (NativeFSLockFactory) are detected by the lock file they
/// keep open, in this process and in others of the same user; they in turn respect this lock. Obtaining never waits:
/// Error `io` names the process that holds the lock. An existing lock file is replaced, never written to, and links are
/// not followed.
class WriteLockFactory : public Lucene::LockFactory {
 public:
  explicit WriteLockFactory(std::filesystem::path folder);
  Lucene::LockPtr makeLock(const Lucene::String& name) override;
  /// Does nothing: removing a live writer's file would admit a second writer.
  void clearLock(const Lucene::String& name) override;

 private:
  std::filesystem::path folder_;
};

}  // namespace relucent
