#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "plugin/index_format/records/records_format.h"
#include "plugin/index_format/records/segment_records.h"
#include "plugin/index_format/records/segment_records_writer.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

constexpr RecordsKind kKind{"things", "relucent things --index DIR"};
const std::vector<std::optional<std::string>> kRecords = {"first---", "", std::nullopt, "fourth--", "", "the last"};

RecordsHeader header_of(bool fixed, std::uint32_t documents = static_cast<std::uint32_t>(kRecords.size())) {
  return {{"_1a", documents, 0x1234567890ABCDEF}, 0xFEDCBA0987654321, "how", fixed ? 8U : 0U};
}

void add_all(SegmentRecordsWriter& writer) {
  while (writer.documents() < kRecords.size()) {
    const auto& record = kRecords[writer.documents()];
    writer.add(record ? std::optional<std::string_view>(*record) : std::nullopt);
  }
}

fs::path write_records(const fs::path& folder, const RecordsHeader& header) {
  SegmentRecordsWriter writer(folder, kKind, header);
  add_all(writer);
  writer.commit();
  return records_file(folder, kKind, header.segment.name);
}

class SegmentRecordsOf : public ::testing::TestWithParam<bool> {
 protected:
  const RecordsHeader header = header_of(GetParam());
  const TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Layouts, SegmentRecordsOf, ::testing::Values(true, false),
                         [](const auto& with) { return with.param ? "Fixed" : "Varying"; });

TEST_P(SegmentRecordsOf, GivesBackWhatWasWritten) {
  EXPECT_EQ(write_records(folder.path(), header), folder / "relucent-_1a.things");
  const auto records = SegmentRecords::open(folder.path(), kKind, header.segment);
  EXPECT_EQ(records->header(), header);
  for (std::uint32_t i = 0; i < kRecords.size(); ++i) EXPECT_EQ(records->record(i), kRecords[i]) << i;
  records->check_all();
  expect_error(ErrorKind::usage, "document 6", [&] { records->record(6); });
  EXPECT_FALSE(fs::exists(folder / "relucent-_1a.things.part"));
}

// `cp` and `rsync --inplace` cut a file that a server has open, and then write it again.
TEST_P(SegmentRecordsOf, ReportsAFileThatIsCutWhileItIsOpen) {
  constexpr std::uint32_t documents = 5000;
  const RecordsHeader many = header_of(GetParam(), documents);
  SegmentRecordsWriter writer(folder.path(), kKind, many);
  for (std::uint32_t i = 0; i < documents; ++i) writer.add("document");
  writer.commit();
  const fs::path file = records_file(folder.path(), kKind, many.segment.name);
  const std::string bytes = bytes_of(file);
  const auto records = SegmentRecords::open(folder.path(), kKind, many.segment);
  EXPECT_EQ(records->record(documents - 1), "document");
  fs::resize_file(file, 0);
  expect_error(ErrorKind::invalid_data, file.string(), [&] { records->record(documents - 1); });
  expect_error(ErrorKind::invalid_data, file.string(), [&] { records->check_all(); });
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_EQ(records->record(documents - 1), "document");
}

TEST_P(SegmentRecordsOf, HoldsASegmentWithoutDocuments) {
  const RecordsHeader empty = header_of(GetParam(), 0);
  SegmentRecordsWriter(folder.path(), kKind, empty).commit();
  const auto records = SegmentRecords::open(folder.path(), kKind, empty.segment);
  records->check_all();
  expect_error(ErrorKind::usage, [&] { records->record(0); });
}

TEST_P(SegmentRecordsOf, NamesTheFileAndTheCommandIfItIsAbsentOrForeign) {
  expect_error(ErrorKind::io, {"relucent-_1a.things", "is missing", "relucent things --index DIR"},
               [&] { SegmentRecords::open(folder.path(), kKind, header.segment); });
  write_records(folder.path(), header);
  for (int field = 0; field < 2; ++field) {
    SegmentIdentity other = header.segment;
    if (field == 0) ++other.documents;
    if (field == 1) ++other.contents;
    expect_error(ErrorKind::invalid_data, {"relucent-_1a.things", "another segment", "relucent things --index DIR"},
                 [&] { SegmentRecords::open(folder.path(), kKind, other); });
  }
  fs::rename(folder / "relucent-_1a.things", folder / "relucent-_2.things");
  expect_error(ErrorKind::invalid_data, "another segment", [&] {
    SegmentRecords::open(folder.path(), kKind, {"_2", header.segment.documents, header.segment.contents});
  });
  expect_error(ErrorKind::invalid_data, {"holds \"things\", not \"others\"", "relucent others"}, [&] {
    SegmentRecords::open_file(folder / "relucent-_2.things", {"others", "relucent others"});
  });
}

TEST_P(SegmentRecordsOf, RefusesEveryTruncationAndEveryExtension) {
  const std::string bytes = bytes_of(write_records(folder.path(), header));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const fs::path file = folder.write("short", bytes.substr(0, size));
    expect_error(ErrorKind::invalid_data, {"short", "relucent things"},
                 [&] { SegmentRecords::open_file(file, kKind); });
  }
  for (const std::string& more : {std::string(1, '\0'), std::string(64, 'x'), bytes}) {
    expect_error(ErrorKind::invalid_data,
                 [&] { SegmentRecords::open_file(folder.write("long", bytes + more), kKind); });
  }
}

TEST_P(SegmentRecordsOf, NoticesEveryFlippedBit) {
  const std::string bytes = bytes_of(write_records(folder.path(), header));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      // Some are noticed at opening, the others when the record, or all of the file, is read.
      expect_error(ErrorKind::invalid_data, "relucent things", [&] {
        const auto records = SegmentRecords::open_file(folder.write("flipped", flipped), kKind);
        for (std::uint32_t i = 0; i < kRecords.size(); ++i) {
          try {
            EXPECT_EQ(records->record(i), kRecords[i]) << "byte " << at;
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::invalid_data);
          }
        }
        records->check_all();
      });
    }
  }
}

TEST_P(SegmentRecordsOf, NoticesSwappedRecordsAndRecordsOfAnotherFile) {
  RecordsHeader other = header;
  ++other.fingerprint;
  const std::string theirs = bytes_of(write_records(folder.path(), other));
  const std::string bytes = bytes_of(write_records(folder.path(), header));
  const std::size_t first = records::header_bytes(header, kKind).size(), frame = 8 + records::kRecordFrame;
  const std::size_t fourth = first + frame + (GetParam() ? 2 * frame : 2 * records::kRecordFrame);
  std::string swapped = bytes, mixed = bytes;
  swapped.replace(first, frame, bytes, fourth, frame).replace(fourth, frame, bytes, first, frame);
  mixed.replace(first, frame, theirs, first, frame);
  for (const std::string& wrong : {swapped, mixed}) {
    const auto records = SegmentRecords::open_file(folder.write("wrong", wrong), kKind);
    expect_error(ErrorKind::invalid_data, "document 0 is damaged", [&] { records->record(0); });
    expect_error(ErrorKind::invalid_data, [&] { records->check_all(); });
  }
}

TEST_P(SegmentRecordsOf, SurvivesHostileFieldsWithRightChecksums) {
  const std::string good = records::header_bytes(header, kKind);
  const std::string rest = bytes_of(write_records(folder.path(), header)).substr(good.size());
  const std::size_t fields = records::kMagic.size();
  int opened = 0;
  for (std::size_t at = fields; at + 4 <= good.size() - 8; ++at) {
    for (const std::uint32_t value : {0U, 1U, 7U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU}) {
      std::string bytes = good.substr(0, good.size() - 8), number;
      records::put32(number, value);
      bytes.replace(at, 4, number);
      records::put64(bytes, checksum(bytes));
      const std::uint64_t sum = records::get64(bytes, bytes.size() - 8);
      bytes += rest.substr(0, rest.size() - records::kEnd);
      records::put64(bytes, records::end_mark(sum, bytes.size() + records::kEnd));
      try {
        const auto records = SegmentRecords::open_file(folder.write("hostile", bytes), kKind);
        ++opened;  // another fingerprint, say: then no record has the right checksum
        for (const std::uint32_t i : {0U, 5U, 6U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
          if (records->header() == header) continue;
          EXPECT_THROW(records->record(i), Error);
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
      }
    }
  }
  EXPECT_GT(opened, 0);
}

TEST_P(SegmentRecordsOf, NamesAnotherVersion) {
  std::string bytes = bytes_of(write_records(folder.path(), header));
  bytes[records::kMagic.size()] = 9;
  expect_error(ErrorKind::invalid_data, {"version 9", "version 1", "relucent things"},
               [&] { SegmentRecords::open_file(folder.write("newer", bytes), kKind); });
}

TEST_P(SegmentRecordsOf, ContinuesAPartOfAnyLength) {
  const std::string whole = bytes_of(write_records(folder.path(), header));
  std::uint32_t most = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder.write("relucent-_1a.things.part", whole.substr(0, size));
    SegmentRecordsWriter writer(folder.path(), kKind, header);
    most = std::max(most, writer.documents());
    add_all(writer);
    writer.commit();
    ASSERT_EQ(bytes_of(folder / "relucent-_1a.things"), whole) << size;
  }
  EXPECT_EQ(most, kRecords.size());
}

TEST_P(SegmentRecordsOf, ContinuesOnlyWhatIsIntactAndItsOwn) {
  const std::string whole = bytes_of(write_records(folder.path(), header));
  const std::size_t start = records::header_bytes(header, kKind).size();
  std::string torn = whole;
  for (std::size_t i = start + 30; i < torn.size(); ++i) torn[i] = 0;  // as after a power cut
  folder.write("relucent-_1a.things.part", torn);
  {
    SegmentRecordsWriter writer(folder.path(), kKind, header);
    EXPECT_GE(writer.documents(), 1U);
    EXPECT_LT(writer.documents(), 4U);
    add_all(writer);
    writer.commit();
  }
  EXPECT_EQ(bytes_of(folder / "relucent-_1a.things"), whole);
  folder.write("relucent-_1a.things.part", whole);
  RecordsHeader other = header;
  ++other.fingerprint;
  SegmentRecordsWriter writer(folder.path(), kKind, other);
  EXPECT_EQ(writer.documents(), 0U);
  add_all(writer);
  writer.commit();
  EXPECT_EQ(SegmentRecords::open(folder.path(), kKind, header.segment)->header(), other);
}

TEST_P(SegmentRecordsOf, LeavesTheOldFileUntilTheNewOneIsWhole) {
  const std::string old = bytes_of(write_records(folder.path(), header));
  RecordsHeader newer = header;
  ++newer.fingerprint;
  {
    SegmentRecordsWriter writer(folder.path(), kKind, newer);
    expect_error(ErrorKind::usage, "0 of 6", [&] { writer.commit(); });
    writer.add("12345678");
    writer.flush();
    expect_error(ErrorKind::usage, "1 of 6", [&] { writer.commit(); });
    if (GetParam()) expect_error(ErrorKind::usage, "3 bytes", [&] { writer.add("123"); });
    expect_error(ErrorKind::io, "another process", [&] { SegmentRecordsWriter(folder.path(), kKind, newer); });
    EXPECT_EQ(bytes_of(folder / "relucent-_1a.things"), old);
    while (writer.documents() < kRecords.size()) writer.add("12345678");
    expect_error(ErrorKind::usage, "already", [&] { writer.add("12345678"); });
    writer.commit();
  }
  EXPECT_EQ(SegmentRecords::open(folder.path(), kKind, header.segment)->record(2), "12345678");
}

TEST(SegmentRecords, RefusesSettingsThatNoReaderWouldTake) {
  const TemporaryFolder folder;
  RecordsHeader header = header_of(true);
  header.settings.assign(kMaxRecordSettings + 1, 's');
  expect_error(ErrorKind::unsupported, "4097 bytes", [&] { SegmentRecordsWriter(folder.path(), kKind, header); });
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RemoveOtherRecords, KeepsTheSegmentsOfTheIndexAndOtherFiles) {
  const TemporaryFolder folder;
  for (const char* name : {"relucent-_1.things", "relucent-_1.things.part", "relucent-_2.things", "relucent-_3.others",
                           "relucent-_4.things.part", "relucent-text.lengths", "_2.things", "relucent-things"}) {
    folder.write(name, "x");
  }
  EXPECT_EQ(other_records(folder.path(), kKind, {{"_1", 1, 1}}),
            (std::vector<std::string>{"relucent-_2.things", "relucent-_4.things.part"}));
  const auto removed = remove_other_records(folder.path(), kKind, {{"_1", 1, 1}});
  EXPECT_EQ(removed,
            (std::vector<std::string>{"relucent-_1.things.part", "relucent-_2.things", "relucent-_4.things.part"}));
  for (const std::string& name : removed) EXPECT_FALSE(fs::exists(folder / name));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 5);
}

}  // namespace
}  // namespace relucent::testing
