#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& action, ErrorKind kind = ErrorKind::io) {
  return expect_error(kind, action).what();
}

TEST(AtomicFile, DoesNotFollowALinkInThePlaceOfItsTemporaryFile) {
  const TemporaryFolder folder;
  folder.write("victim", "precious");
  fs::create_symlink("victim", folder / ("file.tmp" + std::to_string(::getpid())));
  message_of([&] { write_file_atomically(folder / "file", "new"); });
  EXPECT_EQ(read_file(folder / "victim", 100), "precious");
}

TEST(AtomicFile, NamesTheFileThatCannotBeCreated) {
  const TemporaryFolder folder;
  const fs::path path = folder / "missing" / "file";
  const std::string message = message_of([&] { write_file_atomically(path, "new"); });
  EXPECT_NE(message.find(path.string() + ": creating: No such file or directory; check the path"), std::string::npos)
      << message;
}

TEST(FileIo, StatesWhatFailed) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of([&] { open_regular_file(folder / "none"); }).find("No such file"), std::string::npos);
  EXPECT_NE(message_of([&] { open_regular_file(folder.path()); }).find("is a directory"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(message_of([&] { open_regular_file(folder / "pipe"); }).find("is not a regular file"), std::string::npos);
  fs::create_symlink("loop", folder / "loop");
  EXPECT_NE(message_of([&] { open_regular_file(folder / "loop"); }).find("symbolic link"), std::string::npos);
}

// A path through a loop of links stands for whatever keeps the system from looking: the answer is not "absent".
TEST(FileIo, DoesNotTakeWhatCannotBeSeenForAbsent) {
  const TemporaryFolder folder;
  EXPECT_FALSE(exists(status_of(folder / "none")));
  EXPECT_FALSE(exists(status_of(fs::path())));
  EXPECT_TRUE(is_directory(status_of(folder.path())));
  fs::create_symlink("loop", folder / "loop");
  const std::string file = (folder / "loop" / "file").string();
  EXPECT_NE(message_of([&] { status_of(file); }).find(file + ": looking for it: "), std::string::npos);
  EXPECT_NE(message_of([&] { entries_of(file); }).find(file + ": listing its files: "), std::string::npos);
}

TEST(FileIo, StatesThatTooManyFilesAreOpen) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", "bytes");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd next = open_regular_file(path);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string message = message_of([&] { open_regular_file(path); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_NE(message.find("ulimit -n"), std::string::npos) << message;
}

TEST(FileIo, ReadsNoMoreThanAllowed) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("file", std::string(1000, 'x'));
  EXPECT_EQ(read_file(path, 1000).size(), 1000U);
  const std::string message = message_of([&] { read_file(path, 999); }, ErrorKind::invalid_data);
  EXPECT_NE(message.find("larger than 999 bytes"), std::string::npos) << message;
  EXPECT_EQ(read_file(folder.write("empty", ""), 0), "");
}

}  // namespace
}  // namespace relucent::testing
