// Malformed sequences and what Unicode 15, table 3-8 and section 3.9, make of them.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

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

/// An independent check: code point by code point, by value.
bool well_formed(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    unsigned code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3F);
    }
    const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    i += length;
  }
  return true;
}

TEST(Utf8, EncodesAndDecodesEveryScalarValue) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(c, text);
    const DecodedCodePoint decoded = decode_utf8(text, 0);
    ASSERT_TRUE(decoded.well_formed);
    ASSERT_EQ(decoded.value, c);
    ASSERT_EQ(decoded.bytes, text.size());
    ASSERT_EQ(utf8_sequence_length(text), text.size());
  }
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

TEST(Utf8, RepairGivesWellFormedTextAndTouchesNothingElse) {
  std::mt19937 random(12);
  const std::vector<std::string> good = {"a",           "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF",
                                         "\xED\x9F\xBF"};
  int untouched = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text;
    for (std::size_t i = random() % 30; i > 0; --i) {
      text += random() % 8 == 0 && trial % 2 == 0 ? std::string(1, static_cast<char>(random()))
                                                  : good[random() % good.size()];
    }
    const bool was_well_formed = well_formed(text);
    std::string repaired = text;
    const std::size_t replaced = replace_malformed_utf8(repaired);
    ASSERT_TRUE(well_formed(repaired));
    ASSERT_EQ(replaced == 0, was_well_formed);
    if (was_well_formed) {
      ASSERT_EQ(repaired, text);
      ++untouched;
    }
  }
  EXPECT_GT(untouched, 5000);
}

TEST(Utf8, AgreesWithItselfOnRandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, '\0');
    // Lead and continuation bytes more often than ASCII: more sequences that are nearly right.
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() % 128 : 128 + random() % 128);
    std::string by_code_point;
    for (std::size_t i = 0; i < text.size();) append_utf8(next_code_point(text, i), by_code_point);
    std::string storage;
    ASSERT_EQ(well_formed_utf8(text, storage), by_code_point);
    ASSERT_TRUE(is_well_formed_utf8(by_code_point));
    ASSERT_EQ(is_well_formed_utf8(text), text == by_code_point);
  }
}

}  // namespace
}  // namespace relucent
