#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoLimit = 1 << 20;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const fs::path path = folder / "file";
  folder.write("file", "old");
  {
    AtomicFile file(path);
    file.write("new ");
    file.write("contents");
    EXPECT_EQ(read_file(path, kNoLimit), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(path, kNoLimit), "new contents");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, LeavesNothingBehindWhenAbandoned) {
  const TemporaryFolder folder;
  folder.write("file", "old");
  { AtomicFile(folder / "file").write("new"); }
  { AtomicFile(folder / "other").write("new"); }
  EXPECT_EQ(read_file(folder / "file", kNoLimit), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, KeepsASymbolicLink) {
  const TemporaryFolder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target", kNoLimit), "new");
}

}  // namespace
}  // namespace relucent::testing
