// Files, folders, patterns and archives of every kind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "relucent/error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using testing::pack;
using testing::read_corpus;
using testing::TemporaryFolder;

const std::string kText = "1\tone\n2\ttwo\n3\tthree\n";

void expect_three(const testing::ReadResult& read) {
  ASSERT_EQ(read.documents.size(), 3u);
  EXPECT_EQ(read.documents[0].id, "1");
  EXPECT_EQ(read.documents[2].text, "three");
}

class EveryCompression : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryCompression, OfAPlainFileIsSeenThrough) {
  const TemporaryFolder folder;
  pack(folder / "file", "raw", GetParam(), {{"data", kText}});
  expect_three(read_corpus("tsv", {(folder / "file").string()}, true));
}

TEST_P(EveryCompression, OfATarIsSeenThrough) {
  const TemporaryFolder folder;
  pack(folder / "file.tar", "ustar", GetParam(),
       {{"README", "no tab"}, {"a/collection.tsv", kText}, {"queries.tsv", "q\tq\n"}});
  expect_three(read_corpus("msmarco-passage", {(folder / "file.tar").string()}, true));
}

TEST_P(EveryCompression, InsideATarIsSeenThrough) {
  const TemporaryFolder folder;
  pack(folder / "inner", "raw", GetParam(), {{"data", kText}});
  pack(folder / "outer.tar", "ustar", "", {{"docs.tsv.gz", testing::bytes_of(folder / "inner")}});
  expect_three(read_corpus("tsv", {(folder / "outer.tar").string()}, true));
}

INSTANTIATE_TEST_SUITE_P(Input, EveryCompression,
                         ::testing::Values("", "gzip", "bzip2", "xz", "lzma", "zstd", "compress"),
                         [](const auto& chosen) {
                           return *chosen.param == '\0' ? std::string("none") : std::string(chosen.param);
                         });

TEST(Input, ZipIsReadInPlace) {
  const TemporaryFolder folder;
  pack(folder / "docs.zip", "zip", "",
       {{"b/docs.tsv", kText}, {"c.tsv", "4\tfour\n"}, {"x.bin", std::string(1, '\0')}});
  const auto read = read_corpus("tsv", {(folder / "docs.zip").string()}, true);
  ASSERT_EQ(read.documents.size(), 4u);
  EXPECT_EQ(read.documents[3].text, "four");
}

TEST(Input, ContainersWithinContainersAreOpened) {
  const TemporaryFolder folder;
  pack(folder / "inner.zip", "zip", "", {{"docs.tsv", kText}});
  pack(folder / "outer.tar.gz", "ustar", "gzip", {{"inner.zip", testing::bytes_of(folder / "inner.zip")}});
  expect_three(read_corpus("tsv", {(folder / "outer.tar.gz").string()}, true));
}

TEST(Input, PlacesNameTheEntryInsideTheArchive) {
  const TemporaryFolder folder;
  pack(folder / "outer.tar.gz", "ustar", "gzip", {{"docs.tsv", "1\tone\nbroken\n"}});
  const auto read = read_corpus("tsv", {(folder / "outer.tar.gz").string()});
  ASSERT_EQ(read.report.malformed_records(), 1);
  const std::string place = read.report.kinds().begin()->second.examples.front();
  EXPECT_TRUE(place.ends_with("outer.tar.gz:docs.tsv:2")) << place;
}

TEST(Input, FoldersAreReadByNameAndWhatMatchesNothingIsLeftOut) {
  const TemporaryFolder folder;
  folder.write("in/b.tsv", "2\ttwo\n");
  folder.write("in/a.TSV", "1\tone\n");
  folder.write("in/deep/c.tsv", "3\tthree\n");
  folder.write("in/README.md", "about\n");
  const auto files = index_tools::find_input_files({(folder / "in").string()}, {"*.tsv"});
  EXPECT_EQ(files.files.size(), 3u);
  EXPECT_EQ(files.left_out, 1);
  expect_three(read_corpus("tsv", {(folder / "in").string()}, true));
}

TEST(Input, ArchivesOfOtherThingsInAFolderArePassedOver) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  pack(folder / "in/a-queries.tar.gz", "ustar", "gzip", {{"queries.tsv", "q\tquery\n"}});
  pack(folder / "in/collection.tar.gz", "ustar", "gzip", {{"collection.tsv", kText}});
  expect_three(read_corpus("msmarco-passage", {(folder / "in").string()}, true));
}

TEST(Input, PatternsAreExpandedAndAFileOfThatVeryNameComesFirst) {
  const TemporaryFolder folder;
  folder.write("a1.x", "1\tone\n");
  folder.write("a2.x", "2\ttwo\n");
  folder.write("a3.x", "3\tthree\n");
  expect_three(read_corpus("tsv", {(folder / "a*.x").string()}, true));
  folder.write("a*.x", "9\tnine\n");
  EXPECT_EQ(read_corpus("tsv", {(folder / "a*.x").string()}, true).documents.size(), 1u);
}

TEST(Input, NamesReplaceTheCorpussOwnPatterns) {
  const TemporaryFolder folder;
  pack(folder / "x.tar", "ustar", "", {{"passages.txt", kText}, {"collection.tsv", "9\tnine\n"}});
  expect_three(read_corpus("msmarco-passage", {(folder / "x.tar").string()}, true, {"passages*"}));
}

TEST(Input, PatternsWithFoldersLookAtFoldersToo) {
  using index_tools::name_matches;
  const std::vector<std::string> patterns{"FT/*/FT*", "LATIMES/LA*"};
  EXPECT_TRUE(name_matches("/data/disk4/FT/FT911/FT911_1.Z", patterns));
  EXPECT_TRUE(name_matches("latimes/la010189.gz", patterns));
  EXPECT_FALSE(name_matches("/data/disk4/FT/FT911_1", patterns));
  EXPECT_FALSE(name_matches("/data/DTDS/FT911/FT911_1", patterns));
  EXPECT_FALSE(name_matches("FT911_1", patterns));
  EXPECT_FALSE(name_matches("", patterns));
}

TEST(Input, PartsKnowTheirPathBelowTheInput) {
  const TemporaryFolder folder;
  folder.write("in/sub/a.txt", "1");
  pack(folder / "in/z.zip", "zip", "", {{"b/c.txt", "2"}});
  const auto files =
      index_tools::find_input_files({(folder / "in").string(), (folder / "in/sub/a.txt").string()}, {"*.txt"});
  index_tools::InputParts parts(files.files, {"*.txt"});
  std::vector<std::string> paths;
  while (parts.next_part()) paths.push_back(parts.part_path());
  EXPECT_EQ(paths, (std::vector<std::string>{"sub/a.txt", "z.zip/b/c.txt", "a.txt"}));
}

// A link that leads nowhere, to itself, and back up; and a folder reached twice, which is not a circle.
TEST(Input, LinksThatCannotBeFollowedAreNamedAndPassedOver) {
  const TemporaryFolder folder;
  folder.write("in/a.tsv", "1\tone\n");
  folder.write("in/sub/b.tsv", "2\ttwo\n");
  folder.write("other/c.tsv", "3\tthree\n");
  std::filesystem::create_symlink("nowhere", folder / "in/gone.tsv");
  std::filesystem::create_symlink("nowhere", folder / "in/gone.pdf");
  std::filesystem::create_symlink("self.tsv", folder / "in/self.tsv");
  std::filesystem::create_symlink("..", folder / "in/sub/up");
  std::filesystem::create_symlink("..", folder / "in/above");
  std::filesystem::create_symlink("../other", folder / "in/other");
  const auto found = index_tools::find_input_files({(folder / "in").string()}, {"*.tsv"});
  ASSERT_EQ(found.files.size(), 3u);
  EXPECT_EQ(found.files[1].below, "other/c.tsv");
  std::vector<std::string> links = found.broken_links;
  std::sort(links.begin(), links.end());
  EXPECT_EQ(links, (std::vector<std::string>{
                       (folder / "in/above").string() + " (leads back to a directory that contains it)",
                       (folder / "in/gone.tsv").string() + " (its target cannot be reached)",
                       (folder / "in/self.tsv").string() + " (its target cannot be reached)",
                       (folder / "in/sub/up").string() + " (leads back to a directory that contains it)"}));
}

TEST(Input, AFolderThatCannotBeReadIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "SKIPPED: root may read everything";
  const TemporaryFolder folder;
  folder.write("in/closed/a.tsv", "1\tone\n");
  std::filesystem::permissions(folder / "in/closed", std::filesystem::perms::none);
  try {
    index_tools::find_input_files({(folder / "in").string()}, {"*.tsv"});
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.place(), (folder / "in/closed").string());
  }
  std::filesystem::permissions(folder / "in/closed", std::filesystem::perms::owner_all);
}

// A compressed archive through a pipe: nothing is read twice and nothing looked for from the end.
TEST(Input, PipesAreReadAsFilesAre) {
  const TemporaryFolder folder;
  for (const auto& [name, format, filter] : {std::tuple{"docs.tar.gz", "ustar", "gzip"}, {"docs.zip", "zip", ""}}) {
    SCOPED_TRACE(name);
    pack(folder / name, format, filter, {{"docs.tsv", kText}});
    const std::string bytes = testing::bytes_of(folder / name);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(ends[1]);
    const auto read = read_corpus("tsv", {"/dev/fd/" + std::to_string(ends[0])}, true);
    ::close(ends[0]);
    expect_three(read);
  }
}

TEST(Input, EmptyFilesHoldNoDocument) {
  const TemporaryFolder folder;
  folder.write("empty.tsv", "");
  EXPECT_TRUE(read_corpus("tsv", {(folder / "empty.tsv").string()}, true).documents.empty());
}

TEST(Input, PositionEndsAtTheFilesSize) {
  const TemporaryFolder folder;
  pack(folder / "a.gz", "raw", "gzip", {{"data", kText}});
  folder.write("b.tsv", kText);
  const auto files = index_tools::find_input_files({(folder / "a.gz").string(), (folder / "b.tsv").string()}, {});
  index_tools::InputParts parts(files.files, {});
  char buffer[64];
  while (parts.next_part()) {
    while (parts.read(buffer, sizeof buffer) > 0) {
      EXPECT_LE(parts.bytes_read(), parts.total_bytes());
    }
  }
  EXPECT_EQ(parts.bytes_read(), parts.total_bytes());
}

}  // namespace
}  // namespace relucent
