#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
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

TEST(FolderEntries, NameFilesFoldersAndLinks) {
  const TemporaryFolder folder;
  folder.write("file", "");
  fs::create_directory(folder / "folder");
  fs::create_symlink("file", folder / "link to a file");
  fs::create_symlink("folder", folder / "link to a folder");
  fs::create_symlink("nothing", folder / "link to nothing");
  std::error_code error;
  std::map<std::string, bool> found;
  for (const FolderEntry& entry : entries_of(folder.path(), error)) found[entry.name] = entry.is_folder;
  EXPECT_FALSE(error);
  EXPECT_EQ(found, (std::map<std::string, bool>{{"file", false},
                                                {"folder", true},
                                                {"link to a file", false},
                                                {"link to a folder", true},
                                                {"link to nothing", false}}));
  EXPECT_TRUE(entries_of(folder / "nothing", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(entries_of(folder / "file", error).empty());
  EXPECT_EQ(error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace relucent::testing
