#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/keyed_hash.h"

namespace relucent {
namespace {

/// The bytes 00 01 ... 0f.
constexpr KeyedHash::Key kKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/// The bytes 0, 1, 2 ...
std::string counted(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i);
  return bytes;
}

/// As bytes, in the order in which other programs print them.
std::string hex(const Hash128& hash) {
  std::string digits;
  for (const std::uint64_t half : {hash.first, hash.second}) {
    for (int i = 0; i < 8; ++i) digits += fmt::format("{:02X}", half >> (8 * i) & 0xff);
  }
  return digits;
}

// openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16 -in FILE SIPHASH
TEST(KeyedHash, GivesWhatOpenSslGives) {
  const std::vector<std::pair<std::size_t, std::string>> answers = {
      {0, "A3817F04BA25A8E66DF67214C7550293"},  {1, "DA87C1D86B99AF44347659119B22FC45"},
      {7, "A1F1EBBED8DBC153C0B84AA61FF08239"},  {8, "3B62A9BA6258F5610F83E264F31497B4"},
      {9, "264499060AD9BAABC47F8B02BB6D71ED"},  {15, "5493E99933B0A8117E08EC0F97CFC3D9"},
      {16, "6EE2A4CA67B054BBFD3315BF85230577"}, {63, "5150D1772F50834A503E069A973FBD7C"},
      {64, "1EAF077DC0D4CD3F8CAD4D383658A74B"}, {200, "7C5853F4ED12FF9D836A79BC4047022D"},
  };
  for (const auto& [size, answer] : answers) {
    KeyedHash hash(kKey);
    hash.add(counted(size));
    EXPECT_EQ(hex(hash.value()), answer) << size << " bytes";
  }
}

TEST(KeyedHash, PiecesGiveTheHashOfTheWhole) {
  const std::string text = counted(61);
  KeyedHash whole(kKey);
  whole.add(text);
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      KeyedHash pieces(kKey);
      pieces.add(std::string_view(text).substr(0, a));
      pieces.add(std::string_view(text).substr(a, b - a));
      pieces.add(std::string_view(text).substr(b));
      ASSERT_EQ(pieces.value(), whole.value()) << a << " " << b;
    }
  }
}

TEST(KeyedHash, FieldsDoNotRunIntoEachOther) {
  const auto of = [](std::string_view a, std::string_view b) {
    KeyedHash hash(kKey);
    hash.add_field(a);
    hash.add_field(b);
    return hash.value();
  };
  EXPECT_EQ(of("ab", "c"), of("ab", "c"));
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
  EXPECT_NE(of("", "abc"), of("abc", ""));
}

TEST(KeyedHash, RandomKeysDiffer) { EXPECT_NE(KeyedHash::random_key(), KeyedHash::random_key()); }

}  // namespace
}  // namespace relucent
