#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace relucent {
namespace {

TEST(Text, JoinsWhatARangeHolds) {
  EXPECT_EQ(join(std::vector<std::string>{}), "");
  EXPECT_EQ(join(std::vector<std::string>{"", "b"}), ", b");
  EXPECT_EQ(join(std::set<std::string_view>{"b", "a"}, " | "), "a | b");
  EXPECT_EQ(join(std::vector<std::int64_t>{3, -1}), "3, -1");
  EXPECT_EQ(join(std::vector<std::string>{"a", "bcd"}, ", ", &std::string::size), "1, 3");
}

TEST(Text, TrimsAsciiWhiteSpace) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \v\f"), "");
}

TEST(Text, FindsTheClosestName) {
  const std::vector<std::string> names = {"window", "timeout_ms", "model"};
  EXPECT_EQ(closest_name("widnow", names), "window");
  EXPECT_EQ(closest_name("timeout", names), "");
  EXPECT_EQ(closest_name("timeout_m", names), "timeout_ms");
  EXPECT_EQ(closest_name("modle", names), "model");
  EXPECT_EQ(closest_name("precision", names), "");
  EXPECT_EQ(closest_name(std::string(100'000, 'w'), names), "");
}

TEST(Text, SuggestsANameThatIsClose) {
  EXPECT_EQ(suggest_name("fp23", {"fp32", "int8"}), "did you mean \"fp32\"? ");
  EXPECT_EQ(suggest_name("half", {"fp32", "int8"}), "");
}

TEST(Text, EscapesXml) { EXPECT_EQ(escape_xml("a<b> & \"c\"\x01"), "a&lt;b&gt; &amp; &quot;c&quot;\uFFFD"); }

TEST(Text, FormatsBytesInPowersOfAThousand) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(3'400'000), "3.4 MB");
  EXPECT_EQ(format_bytes(2'000'000'000'000'000), "2000.0 TB");
}

}  // namespace
}  // namespace relucent
