// Files next to an index's own that are far too large: sparse files state any size.
#include <gtest/gtest.h>

#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/index/commit_point.h"
#include "plugin/lucene/index/sidecar.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "tests/support/cost.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHuge = std::uint64_t{6} << 30;

class LargeFiles : public ::testing::Test {
 protected:
  /// Runs `work` in little memory and time.
  template <typename Work>
  static void cheaply(Work&& work) {
    const Cost cost = cost_of(work);
    EXPECT_LT(cost.bytes, std::size_t{100} << 20);
    EXPECT_LT(cost.seconds, 5);
  }

  TestHits hits() const { return search(open_bm25(folder.path()), flat_query("common"), 10); }

  TemporaryFolder folder;
};

TEST_F(LargeFiles, OfRecordedChecksums) {
  write_own(folder.path(), some_documents(20), 20);
  fs::path sums;
  for (const auto& file : fs::directory_iterator(folder.path())) {
    if (file.path().extension() == ".sum") sums = file.path();
  }
  fs::resize_file(sums, kHuge);
  const std::string name = sums.filename().string();
  cheaply([&] { expect_error(ErrorKind::invalid_data, name, [&] { open_reader(folder.path()); }); });

  // The list of segments can also be made to fit.
  const auto directory = Lucene::FSDirectory::open(to_lucene(folder.path().string()));
  const auto infos = Lucene::newLucene<Lucene::SegmentInfos>();
  infos->read(directory);
  segment::Segment segment = recorded_segment(infos->info(0));
  segment.files[segment::kBlockSums].size = static_cast<std::int64_t>(kHuge);
  record_files(segment, infos->info(0));
  infos->commit(directory);
  cheaply(
      [&] { expect_error(ErrorKind::invalid_data, name + ": is recorded with", [&] { open_reader(folder.path()); }); });
}

TEST_F(LargeFiles, OfRememberedChecksums) {
  write_stock(folder.path(), some_documents(20), 20);
  const TestHits found = hits();
  fs::resize_file(folder / "relucent.checked", kHuge);
  cheaply([&] { EXPECT_EQ(hits(), found); });
}

TEST_F(LargeFiles, OfLengths) {
  write_stock(folder.path(), some_documents(20), 20);
  const TestHits found = hits();
  const fs::path lengths = folder / "relucent-contents.lengths";
  const std::string good = bytes_of(lengths);
  fs::resize_file(lengths, kHuge);
  cheaply([&] {
    const auto files = check_lengths(folder.path());
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files[0].state, LengthsFile::State::wrong);
  });
  cheaply([&] { EXPECT_EQ(hits(), found); });
  EXPECT_EQ(bytes_of(lengths), good);

  // Those of an index that was larger are not damaged.
  bm25::FieldLengths larger;
  larger.leaves.emplace_back(1 << 20, std::uint8_t{3});
  ASSERT_TRUE(bm25::Sidecar(folder.path(), "contents", "another index").write(larger));
  EXPECT_EQ(check_lengths(folder.path()).at(0).state, LengthsFile::State::stale);
}

TEST_F(LargeFiles, OfSegments) {
  write_stock(folder.path(), some_documents(20), 20);
  const std::string list = segments_files(folder.path()).front();
  fs::resize_file(folder / list, kHuge);
  cheaply([&] { expect_error(ErrorKind::invalid_data, list, [&] { open_reader(folder.path()); }); });
}

TEST_F(LargeFiles, OfNotesAboutStructure) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1), 0);
  write_own(folder / "index", some_documents(20), 20);
  int notes = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder / "cache")) {
    if (!file.is_regular_file()) continue;
    fs::resize_file(file.path(), kHuge);
    ++notes;
  }
  ASSERT_GT(notes, 0);
  cheaply([&] { EXPECT_EQ(open_reader(folder / "index")->maxDoc(), 20); });
}

}  // namespace
}  // namespace relucent::testing
