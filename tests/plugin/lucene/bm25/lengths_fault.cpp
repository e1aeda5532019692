// Document lengths kept next to another program's index: never those of another index, and no file that nobody asked
// for.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/index/sidecar.h"
#include "relucent/index_files.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

const std::string kLong = "common and rather a long text with a good many words of its own", kShort = "common";

std::vector<std::string> lengths_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".lengths") names.push_back(file.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Replaces the index in `to` by that in `from`; the files get the ages of those they replace.
void replace_files(const fs::path& from, const fs::path& to, bool segments_too) {
  for (const auto& file : fs::directory_iterator(from)) {
    const fs::path old = to / file.path().filename();
    if (!fs::exists(old) || (!segments_too && old.filename().string().starts_with("segments"))) continue;
    ASSERT_EQ(fs::file_size(old), file.file_size()) << old;
    const auto age = fs::last_write_time(old);
    fs::copy_file(file.path(), old, fs::copy_options::overwrite_existing);
    fs::last_write_time(old, age);
  }
}

// The two indexes differ only in which document has which length: names, sizes, terms and ages are the same.
TEST(Lengths, OfAnIndexThatWasReplacedAreNotUsed) {
  for (const bool segments_too : {true, false}) {
    TemporaryFolder folder;
    write_stock(folder / "a", {{"1", kLong}, {"2", kShort}}, 10);
    write_stock(folder / "b", {{"1", kShort}, {"2", kLong}}, 10);
    const auto query = flat_query("common");
    const TestHits a = search(open_bm25(folder / "a"), query, 10);
    fs::copy(folder / "b", folder / "fresh");
    const TestHits b = search(open_bm25(folder / "fresh"), query, 10);
    ASSERT_NE(a, b);
    replace_files(folder / "b", folder / "a", segments_too);
    EXPECT_EQ(search(open_bm25(folder / "a"), query, 10), b);
    EXPECT_EQ(search(open_bm25(folder / "a"), query, 10), b);
  }
}

TEST(Lengths, ThatAreWrongAreFoundByCountingAgain) {
  TemporaryFolder folder;
  write_stock(folder.path(), {{"1", kLong}, {"2", kShort}}, 10);
  const auto searcher = open_bm25(folder.path());
  const auto state = [&] {
    const auto files = check_lengths(folder.path());
    return files.size() == 1 ? files[0].state : LengthsFile::State::stale;
  };
  EXPECT_EQ(state(), LengthsFile::State::right);
  const auto leaves = bm25::leaf_readers(searcher->getIndexReader());
  auto lengths = bm25::count_lengths(leaves, L"contents");
  std::swap(lengths.leaves[0][0], lengths.leaves[0][1]);
  const bm25::Sidecar sidecar(folder.path(), "contents", bm25::index_identity(folder.path(), leaves));
  ASSERT_TRUE(sidecar.write(lengths));
  EXPECT_EQ(state(), LengthsFile::State::wrong);
  ASSERT_TRUE(bm25::Sidecar(folder.path(), "contents", "another index").write(lengths));
  EXPECT_EQ(state(), LengthsFile::State::stale);
}

TEST(Lengths, HaveFilesForConfiguredFieldsAlone) {
  TemporaryFolder folder;
  const auto writer = stock_writer(folder.path(), true);
  constexpr int fields = 12;
  for (int document = 0; document < 20; ++document) {
    const auto made = Lucene::newLucene<Lucene::Document>();
    using Lucene::AbstractField;
    for (int field = 0; field < fields; ++field) {
      std::string text;
      for (int word = 0; word <= (document * (field + 1)) % 7; ++word) text += "word ";
      made->add(Lucene::newLucene<Lucene::Field>(field == 0 ? L"contents" : L"f" + to_lucene(std::to_string(field)),
                                                 to_lucene(text), AbstractField::STORE_NO,
                                                 AbstractField::INDEX_ANALYZED));
    }
    writer->addDocument(made);
  }
  writer->close();
  const auto searcher = open_bm25(folder.path());
  const auto of_field = [&](int field) {
    return search(searcher, term_query("word", field == 0 ? "contents" : "f" + std::to_string(field)), 20);
  };
  std::vector<TestHits> first;
  for (int field = 0; field < fields; ++field) first.push_back(of_field(field));
  EXPECT_NE(first[1], first[2]);
  // More of them than are kept: those that were dropped are counted again.
  for (int field = fields - 1; field >= 0; --field) EXPECT_EQ(of_field(field), first[static_cast<std::size_t>(field)]);
  for (int name = 0; name < 100; ++name) {
    EXPECT_EQ(search(searcher, term_query("word", "absent" + std::to_string(name)), 20), TestHits{});
  }
  EXPECT_EQ(lengths_files(folder.path()), std::vector<std::string>{"relucent-contents.lengths"});
}

}  // namespace
}  // namespace relucent::testing
