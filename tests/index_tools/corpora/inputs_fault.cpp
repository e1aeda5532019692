// Input that is missing, cut off, damaged or something else than it should be.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/file/unique_fd.h"
#include "base/utf8.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent {
namespace {

using testing::expect_error;
using testing::pack;
using testing::read_corpus;
using testing::TemporaryFolder;

std::string many_lines() {
  std::mt19937 random(1);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + "\ttext number " + std::to_string(random()) + "\n";
  return text;
}

TEST(BadInput, MissingFilesFoldersAndPatternsAreNamed) {
  const TemporaryFolder folder;
  for (const char* name : {"absent.tsv", "absent*.tsv", "empty-folder"}) {
    std::filesystem::create_directory(folder / "empty-folder");
    const std::string path = (folder / name).string();
    const Error error = expect_error(ErrorKind::io, [&] { read_corpus("tsv", {path}); });
    EXPECT_EQ(error.place(), path);
    EXPECT_FALSE(error.remedy().empty());
  }
}

TEST(BadInput, ASocketIsRefused) {
  const TemporaryFolder folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder / "socket").string();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Error error = expect_error(ErrorKind::io, [&] { read_corpus("tsv", {path}); });
  EXPECT_NE(error.place().find(path), std::string::npos) << error.what();
}

TEST(BadInput, CutOffArchivesAreErrorsNamingTheFile) {
  const TemporaryFolder folder;
  const std::string text = many_lines();
  for (const char* filter : {"gzip", "bzip2", "xz", "lzma", "zstd"}) {
    SCOPED_TRACE(filter);
    pack(folder / "whole", "raw", filter, {{"data", text}});
    const std::string bytes = testing::bytes_of(folder / "whole");
    for (const double share : {0.1, 0.5, 0.99}) {
      const auto part = folder.write(
          "part",
          std::string_view(bytes).substr(0, static_cast<std::size_t>(share * static_cast<double>(bytes.size()))));
      const Error error = expect_error(ErrorKind::invalid_data, [&] { read_corpus("tsv", {part.string()}); });
      EXPECT_NE(error.place().find(part.string()), std::string::npos) << error.what();
      EXPECT_NE(error.place().find("byte"), std::string::npos) << error.what();
    }
  }
  pack(folder / "whole.tar", "ustar", "", {{"docs.tsv", text}});
  const std::string bytes = testing::bytes_of(folder / "whole.tar");
  const auto part = folder.write("part.tar", std::string_view(bytes).substr(0, bytes.size() / 2));
  const Error error = expect_error(ErrorKind::invalid_data, [&] { read_corpus("tsv", {part.string()}); });
  EXPECT_NE(error.place().find("part.tar:docs.tsv"), std::string::npos) << error.what();
}

// A damaged byte in a compressed file must never pass for text, in every format that carries checksums.
TEST(BadInput, FlippedBytesInCompressedFilesNeverChangeTheTextUnnoticed) {
  const TemporaryFolder folder;
  const std::string text = many_lines().substr(0, 20000);
  std::mt19937 random(2);
  for (const char* filter : {"gzip", "bzip2", "xz"}) {
    SCOPED_TRACE(filter);
    pack(folder / "whole", "raw", filter, {{"data", text}});
    const auto expected = read_corpus("tsv", {(folder / "whole").string()}).documents;
    const std::string bytes = testing::bytes_of(folder / "whole");
    int noticed = 0;
    for (int trial = 0; trial < 60; ++trial) {
      std::string damaged = bytes;
      // The first bytes decide what kind of file it is; a damaged one is then a text full of malformed records.
      const std::size_t at = 10 + random() % (bytes.size() - 10);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
      const auto file = folder.write("damaged", damaged);
      try {
        const auto read = read_corpus("tsv", {file.string()});
        ASSERT_EQ(read.documents.size(), expected.size()) << "byte " << at;
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(read.documents[i].text, expected[i].text) << "byte " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_data);
        ++noticed;
      }
    }
    EXPECT_GT(noticed, 40);
  }
}

TEST(BadInput, GzipMembersFollowEachOtherAndNothingElseDoes) {
  const TemporaryFolder folder;
  pack(folder / "one", "raw", "gzip", {{"data", "1\tone\n"}});
  pack(folder / "two", "raw", "gzip", {{"data", "2\ttwo\n"}});
  const std::string members = testing::bytes_of(folder / "one") + testing::bytes_of(folder / "two");
  EXPECT_EQ(read_corpus("tsv", {folder.write("both", members).string()}).documents.size(), 2u);
  EXPECT_EQ(read_corpus("tsv", {folder.write("padded", members + std::string(512, '\0')).string()}).documents.size(),
            2u);
  const Error error = expect_error(ErrorKind::invalid_data,
                                   [&] { read_corpus("tsv", {folder.write("more", members + "more").string()}); });
}

TEST(BadInput, AnArchiveWithoutTheCorpussFilesStatesWhatItWanted) {
  const TemporaryFolder folder;
  pack(folder / "x.tar", "ustar", "", {{"other.bin", "x"}});
  const Error error =
      expect_error(ErrorKind::invalid_data, [&] { read_corpus("msmarco-passage", {(folder / "x.tar").string()}); });
  EXPECT_NE(error.problem().find("collection*.tsv"), std::string::npos) << error.what();
}

TEST(BadInput, TooManyLayersAreRefused) {
  const TemporaryFolder folder;
  std::string bytes = "1\tone\n";
  std::string name = "docs.tsv";
  for (int i = 0; i < 8; ++i) {
    pack(folder / "x.tar", "ustar", "", {{name, bytes}});
    bytes = testing::bytes_of(folder / "x.tar");
    name = "x.tar";
  }
  expect_error(ErrorKind::invalid_data, [&] { read_corpus("tsv", {(folder / "x.tar").string()}); });
}

TEST(BadInput, StrictMakesTheFirstMalformedRecordAnErrorWithItsLine) {
  const Error error =
      expect_error(ErrorKind::invalid_data, [] { testing::read_text("tsv", "1\tone\n2\ttwo\nbroken\n", true); });
  EXPECT_TRUE(error.place().ends_with("input:3")) << error.place();
}

TEST(BadInput, AFileOfAnotherFormatIsGivenUpEarly) {
  const Error error = expect_error(ErrorKind::invalid_data, [] { testing::read_text("jsonl", many_lines()); });
  EXPECT_NE(error.problem().find("most records are malformed"), std::string::npos);
}

TEST(BadInput, RandomBytesAreReadWithoutHarm) {
  std::mt19937 random(3);
  const testing::TemporaryFolder folder;  // one for all: making it takes longer than reading
  for (int trial = 0; trial < 200; ++trial) {
    std::string bytes(random() % 3000, '\0');
    const int width = trial % 2 == 0 ? 256 : 64;
    for (char& c : bytes) c = static_cast<char>(random() % static_cast<unsigned>(width) + (width == 64 ? 32 : 0));
    for (std::size_t i = 0; i < bytes.size(); i += 1 + random() % 60) bytes[i] = "\n.I\t{<"[random() % 6];
    const std::string file = folder.write("input", bytes).string();
    for (const auto& corpus : index_tools::corpora()) {
      try {
        const auto read = testing::read_corpus(corpus.id, {file});
        for (const auto& document : read.documents) {
          std::string text = document.text;
          EXPECT_EQ(replace_malformed_utf8(text), 0u);
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace relucent
