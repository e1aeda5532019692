// UTF-8 over all scalar values and over random bytes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace relucent {
namespace {

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
