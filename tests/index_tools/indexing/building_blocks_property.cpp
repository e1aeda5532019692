#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "index_tools/corpora/double_encoding.h"
#include "index_tools/corpora/line_reader.h"
#include "index_tools/indexing/id_set.h"
#include "index_tools/indexing/progress.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

TEST(LineReaderProperty, LinesDoNotDependOnHowBytesArrive) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    std::vector<std::string> expected;
    const std::size_t lines = random() % 6;
    for (std::size_t i = 0; i < lines; ++i) {
      std::string line(random() % 12, 'a');
      for (char& c : line) c = static_cast<char>('a' + random() % 26);
      bytes += line + (random() % 2 == 0 ? "\r\n" : "\n");
      expected.push_back(line);
    }
    testing::Pieces pieces(bytes, static_cast<unsigned>(random()), 7);
    ReadReport report;
    const std::string part = "part";
    LineReader reader(pieces, part, report);
    std::vector<std::string> read;
    for (std::string line; reader.next(line);) read.push_back(line);
    ASSERT_EQ(read, expected) << bytes;
    EXPECT_EQ(reader.number(), static_cast<std::int64_t>(lines));
  }
}

TEST(DoubleEncodingProperty, EveryCharacterEncodedTwiceComesBack) {
  for (unsigned code = 0x80; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 97) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string once;
    if (code < 0x800) {
      once = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else if (code < 0x10000) {
      once = {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
    } else {
      once = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
              static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    }
    std::string twice;
    for (const char c : once) {
      twice += static_cast<char>(0xC0 | static_cast<unsigned char>(c) >> 6);
      twice += static_cast<char>(0x80 | (static_cast<unsigned char>(c) & 63));
    }
    std::string text = "x" + twice + "y";
    undo_double_encoding(text);
    ASSERT_EQ(text, "x" + once + "y") << code;
  }
}

TEST(ChecksumProperty, IsTheCatalogues) { EXPECT_EQ(checksum("123456789"), 0x995DC9BBDF1939FAu); }

TEST(ChecksumProperty, DoesNotDependOnPiecesAndFindsEveryFlippedBit) {
  std::mt19937 random(13);
  std::string bytes(1000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  const std::uint64_t whole = checksum(bytes);
  for (int trial = 0; trial < 200; ++trial) {
    Checksum pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t count = std::min<std::size_t>(bytes.size() - at, random() % 40);
      pieces.add(std::string_view(bytes).substr(at, count));
      at += count;
    }
    ASSERT_EQ(pieces.value(), whole);
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(checksum(bytes), whole);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_EQ(from_hex(to_hex(whole), "place"), whole);
}

TEST(IdSetProperty, AnswersAsASetDoes) {
  std::mt19937 random(14);
  IdSet ids;
  std::set<std::string> truth;
  for (int i = 0; i < 300000; ++i) {
    std::string id = std::to_string(random() % 200000);
    if (random() % 3 == 0) id.insert(0, "msmarco_passage_");
    ASSERT_EQ(ids.insert(id), truth.insert(id).second) << id;
  }
  EXPECT_EQ(ids.size(), truth.size());
  EXPECT_TRUE(ids.insert(std::string("a\0", 2)));
  EXPECT_TRUE(ids.insert("a"));
}

TEST(ProgressLineProperty, FitsEveryTerminalAndShowsMoreOnWiderOnes) {
  for (const std::optional<double> share : {std::optional<double>(), std::optional(0.0), std::optional(1.0)}) {
    const ProgressLine line{"measuring", share, "138,364,198 documents", "1234.5 MB/s", "123:45:59 left"};
    std::size_t shown = 0;
    for (std::size_t columns = 20; columns <= 200; ++columns) {
      const std::string text = format_progress(line, columns);
      EXPECT_LT(text.size(), columns) << text;
      EXPECT_TRUE(text.starts_with("measuring")) << text;
      EXPECT_EQ(text.find("100 %") != std::string::npos, share == 1.0) << text;
      std::size_t parts = 0;
      for (const std::string& part : {line.documents, line.rate, line.left}) parts += text.find(part) < text.size();
      EXPECT_GE(parts, shown) << text;
      shown = parts;
    }
    EXPECT_EQ(shown, 3U);
  }
  const ProgressLine line{"indexing", 0.5, "7 documents", "2.0 MB/s", "0:00:09 left"};
  EXPECT_EQ(format_progress(line, 100),
            "indexing [############............]  50 %  7 documents  2.0 MB/s  0:00:09 left");
  EXPECT_EQ(format_progress(line, 0), "indexing  50 %  7 documents  2.0 MB/s  0:00:09 left");
  EXPECT_EQ(format_progress(line, 43), "indexing  50 %  7 documents  0:00:09 left");
  EXPECT_EQ(format_progress(line, 30), "indexing  50 %  0:00:09 left");
  EXPECT_EQ(format_progress(line, 10), "ind  50 %");
  EXPECT_EQ(format_progress({"reading the dictionary", {}, "7 documents", "", ""}, 20), "reading the diction");
}

TEST(Numbers, ForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(8841823), "8,841,823");
  EXPECT_EQ(with_commas(-1234), "-1,234");
}

}  // namespace
}  // namespace relucent::index_tools
