// Malformed sequences and what Unicode 15, table 3-8 and section 3.9, make of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"

namespace relucent {
namespace {

struct Malformed {
  std::string bytes;
  std::size_t subparts;
};

const std::vector<Malformed>& malformed() {
  static const std::vector<Malformed> all = {
      {"\x80", 1},                              // a continuation byte alone
      {"\xC0\xAF", 2},                          // overlong
      {"\xE0\x80\xAF", 3},                      // overlong
      {"\xF0\x80\x80\xAF", 4},                  // overlong
      {"\xED\xA0\x80", 3},                      // a surrogate
      {"\xF4\x90\x80\x80", 4},                  // above U+10FFFF
      {"\xF5\x80", 2},                          // never a lead byte
      {"\xE1\x80", 1},                          // cut short: one maximal subpart
      {"\xF0\x91\x92", 1},                      // cut short
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF", 4},  // table 3-10: four truncated sequences
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82", 8},  // table 3-8
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF", 8},  // table 3-9
  };
  return all;
}

TEST(Utf8, WritesReplacementCharactersForWhatIsNotAScalarValue) {
  for (const char32_t c : {char32_t{0xD800}, char32_t{0xDFFF}, char32_t{0x110000}, char32_t{0xFFFFFFFF}}) {
    std::string text;
    append_utf8(c, text);
    EXPECT_EQ(text, kReplacementUtf8);
  }
}

TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
  for (const auto& [bytes, subparts] : malformed()) {
    std::string expected = "a";
    for (std::size_t i = 0; i < subparts; ++i) expected += kReplacementUtf8;
    expected += "b";
    std::string text = "a" + bytes + "b";
    EXPECT_FALSE(is_well_formed_utf8(text));
    std::string storage;
    EXPECT_EQ(well_formed_utf8(text, storage), expected);
    EXPECT_EQ(replace_malformed_utf8(text), subparts);
    EXPECT_EQ(text, expected);
  }
}

TEST(Utf8, DropsMalformedSubparts) {
  for (const auto& [bytes, subparts] : malformed()) {
    std::string text = "a" + bytes + "b";
    EXPECT_EQ(drop_malformed_utf8(text), subparts);
    EXPECT_EQ(text, "ab");
  }
}

TEST(Utf8, LeavesWellFormedTextWhereItIs) {
  const std::string text = "plain, é, 日本, \U0001F600, and \uFFFD itself";
  std::string storage = "untouched", copy = text;
  EXPECT_EQ(well_formed_utf8(text, storage).data(), text.data());
  EXPECT_EQ(storage, "untouched");
  EXPECT_EQ(replace_malformed_utf8(copy), 0U);
  EXPECT_EQ(copy, text);
  EXPECT_TRUE(is_well_formed_utf8(text));
}

TEST(Utf8, PrefixesNeverCutACodePoint) {
  const std::string text = "aé日\U0001F600";
  for (std::size_t bytes = 0; bytes <= text.size() + 1; ++bytes) {
    const std::string_view prefix = utf8_prefix(text, bytes);
    EXPECT_LE(prefix.size(), bytes);
    EXPECT_TRUE(is_well_formed_utf8(prefix)) << bytes;
    EXPECT_LT(bytes, prefix.size() + 4);
  }
  EXPECT_EQ(count_code_points(text), 4U);
  const std::vector<std::size_t> ends = {0, 1, 3, 6, 10, 10};
  for (std::size_t count = 0; count < ends.size(); ++count) EXPECT_EQ(bytes_of_code_points(text, count), ends[count]);
}

}  // namespace
}  // namespace relucent
