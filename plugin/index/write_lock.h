#pragma once

#include <LockFactory.h>

#include <filesystem>

namespace relucent {

/// Locks an index folder for one writer through the system's lock on the file write.lock, so that a writer that died
/// never blocks the next one, while living writers exclude each other. Lucene++'s own writers (NativeFSLockFactory) are
/// found by the file that they keep open, in this process and in others of the same user; they in turn wait for this
/// lock. Obtaining never waits: Error `io` says which process holds the lock. The file alone, left by a writer that
/// died, does not lock. It is replaced by a new one, never written to, and links are not followed.
class WriteLockFactory : public Lucene::LockFactory {
 public:
  explicit WriteLockFactory(std::filesystem::path folder);
  Lucene::LockPtr makeLock(const Lucene::String& name) override;
  /// Does nothing: removing the file of a living writer would let two in.
  void clearLock(const Lucene::String& name) override;

 private:
  std::filesystem::path folder_;
};

}  // namespace relucent
