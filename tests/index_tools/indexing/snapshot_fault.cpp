// A snapshot of an index whose files vanish meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file/unique_fd.h"
#include "index_tools/indexing/snapshot.h"
#include "relucent/index_builder.h"
#include "relucent/index_files.h"
#include "tests/support/temporary_folder.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(Snapshot, FilesThatVanishDuringTheCopyAreStillCopied) {
  const TemporaryFolder folder;
  const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, {});
  for (const char* id : {"a", "b", "c"}) builder->add(id, "some words");
  builder->close();
  const IndexFiles before = index_files(folder / "index");

  SnapshotJob job;
  job.index = folder / "index";
  job.output = folder / "copy";
  job.copy = true;
  std::size_t calls = 0;
  // Once for each file before it is opened, and once before it is copied.
  job.interrupted = [&] {
    if (++calls == before.names.size() + 1) {
      for (const std::string& name : before.names) fs::remove(job.index / name);
    }
    return false;
  };
  const SnapshotSummary summary = snapshot_index(job);
  EXPECT_EQ(summary.files, static_cast<std::int64_t>(before.names.size()));
  EXPECT_EQ(summary.linked, 0);
  EXPECT_FALSE(fs::exists(job.index / before.commit));
  const IndexFiles after = index_files(folder / "copy");
  EXPECT_EQ(after.commit, before.commit);
  EXPECT_EQ(after.documents, 3);
  EXPECT_EQ(find_damage(folder / "copy"), std::vector<std::string>());
}

TEST(Snapshot, NeedsFewDescriptors) {
  const TemporaryFolder folder;
  const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, {});
  builder->add("a", "some words");
  builder->close();
  SnapshotJob job;
  job.index = folder / "index";
  job.output = folder / "copy";
  job.copy = true;

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 6;  // fewer than the index has files
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string failure;
  try {
    snapshot_index(job);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failure, "");
  EXPECT_GT(index_files(folder / "copy").names.size(), 6U);
}

}  // namespace
}  // namespace relucent::index_tools
