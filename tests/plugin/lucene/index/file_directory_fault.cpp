#include <gtest/gtest.h>

#include <filesystem>

#include "plugin/lucene/index/file_directory.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

// The writer removes the files of a segment that it takes for absent: a file that cannot be looked up is not absent.
TEST(FileDirectory, ReportsAFileThatCannotBeLookedUp) {
  const TemporaryFolder folder;
  folder.write("_0.fdx", "bytes");
  fs::create_symlink("loop", folder / "loop");
  const auto directory = Lucene::newLucene<FileDirectory>(folder / "", Lucene::LockFactoryPtr());
  EXPECT_TRUE(directory->fileExists(L"_0.fdx"));
  EXPECT_FALSE(directory->fileExists(L"_0.fdt"));
  EXPECT_FALSE(directory->fileExists(L"_0.fdx/below"));
  EXPECT_THROW(directory->fileExists(L"loop"), Lucene::IOException);
  EXPECT_THROW(directory->fileModified(L"loop"), Lucene::IOException);
  EXPECT_THROW(directory->fileModified(L"_0.fdt"), Lucene::FileNotFoundException);
}

}  // namespace
}  // namespace relucent::testing
