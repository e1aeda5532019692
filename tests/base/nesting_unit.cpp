// How deep a JSON or TOML text nests and how many values it has, found without parsing it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/nesting.h"

namespace relucent {
namespace {

std::string repeated(const std::string& piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

constexpr std::size_t kMost = kMaxNesting;

TEST(JsonNesting, LevelsAreCountedOutsideStrings) {
  EXPECT_FALSE(too_deep_in_json(repeated("[", kMost) + repeated("]", kMost)));
  EXPECT_EQ(too_deep_in_json(repeated("[", kMost + 1)), kMost);
  EXPECT_EQ(too_deep_in_json(repeated("{\"a\":", kMost + 1)), 5 * kMost);
  EXPECT_FALSE(too_deep_in_json("\"" + repeated("[", 1000) + "\""));
  EXPECT_FALSE(too_deep_in_json("\"\\\"" + repeated("{", 1000) + "\""));
  EXPECT_TRUE(too_deep_in_json("\"\\\\\"" + repeated("{", 1000)));
  EXPECT_FALSE(too_deep_in_json(repeated("[]{}", 1000)));
  EXPECT_FALSE(too_deep_in_json(repeated("]", 1000) + "["));
  EXPECT_FALSE(too_deep_in_json("\"\\"));
  EXPECT_FALSE(too_deep_in_json(""));
}

TEST(JsonValues, AreCountedOutsideStrings) {
  constexpr std::string_view object = R"({"a":[1,2],"b":"[[[,,,"})";
  EXPECT_FALSE(too_many_in_json(object, 9));
  EXPECT_EQ(too_many_in_json(object, 3), object.find('1') - 1);
  EXPECT_FALSE(too_many_in_json(R"("\"[[[[")", 1));
  EXPECT_EQ(too_many_in_json(R"("\\"[[[[")", 1), 4U);
  EXPECT_FALSE(too_many_in_json("", 0));
}

// What the parser itself counts, up to where it stops.
TEST(JsonNesting, AgreesWithTheParserOnAnyText) {
  std::mt19937 random(16);
  const std::string alphabet = "[]{}[[{{\"\",:1a\\ ";
  for (int round = 0; round < 2'000; ++round) {
    std::string text = repeated("[", kMost - 2);
    for (int i = 0; i < 12; ++i) text += alphabet[random() % alphabet.size()];
    std::size_t deepest = 0;
    const nlohmann::json::parser_callback_t watch = [&](int depth, nlohmann::json::parse_event_t event, auto&) {
      if (event == nlohmann::json::parse_event_t::object_start || event == nlohmann::json::parse_event_t::array_start)
        deepest = std::max(deepest, static_cast<std::size_t>(depth) + 1);
      return true;
    };
    [[maybe_unused]] const auto parsed = nlohmann::json::parse(text, watch, false);
    ASSERT_TRUE(deepest <= kMost || too_deep_in_json(text)) << text;
  }
}

TEST(TomlNesting, KeysAndHeadersAreLevels) {
  const auto dotted = [](std::size_t parts) { return "a" + repeated(".a", parts - 1); };
  EXPECT_FALSE(too_deep_in_toml(dotted(kMost) + " = 1\n"));
  EXPECT_TRUE(too_deep_in_toml(dotted(kMost + 2) + " = 1\n"));
  EXPECT_TRUE(too_deep_in_toml("[" + dotted(kMost + 1) + "]\n"));
  EXPECT_TRUE(too_deep_in_toml("[[" + dotted(kMost + 1) + "]]\n"));
  EXPECT_TRUE(too_deep_in_toml("[" + dotted(kMost / 2) + "]\n" + dotted(kMost / 2 + 2) + " = 1\n"));
  EXPECT_FALSE(too_deep_in_toml(repeated("[" + dotted(kMost / 2) + "]\n", 10)));
  EXPECT_TRUE(too_deep_in_toml("a = " + repeated("[", kMost + 1)));
  EXPECT_TRUE(too_deep_in_toml("a = " + repeated("{ a.b = ", kMost / 2 + 1)));
  EXPECT_TRUE(too_deep_in_toml("\"x\"" + repeated(" . 'y'", kMost + 1) + " = 1"));
}

// Headers, dotted keys, arrays and inline tables in any order, with strings and comments that look like more of them.
TEST(TomlNesting, MixedLevelsAreCountedExactly) {
  std::mt19937 random(16);
  const auto below = [&](std::size_t n) { return random() % n; };
  const auto key = [&](std::size_t parts) {
    std::string text;
    for (std::size_t i = 0; i < parts; ++i) {
      const char* const names[] = {"a", "\"[.\"", "'{.\"'", "a-1"};
      text += (i == 0 ? "" : below(2) == 0 ? "." : " . ") + std::string(names[below(4)]);
    }
    return text;
  };
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t header = below(3) * below(100), most = kMost - 20 + below(40);
    std::string text = "# [.[.\nb = \"\"\"[.\n{.\\\"\"\"\"\nc = ['[', \"]\\\"[\", 1.5]\n";
    if (header > 0) text += (below(2) == 0 ? "[" + key(header) + "]" : "[[" + key(header) + "]]") + " # .[\n";
    std::size_t parts = 1 + below(30), depth = header + parts - 1;
    text += key(parts) + " = ";
    std::string closing;
    while (depth < most) {
      ++depth;
      if (below(2) == 0) {
        text += "[ 1, ";
        closing.insert(0, "]");
      } else {
        parts = 1 + below(3);
        depth += parts - 1;
        text += "{ x = '[.', " + key(parts) + " = ";
        closing.insert(0, "}");
      }
    }
    text += "1" + closing + "\n";
    ASSERT_EQ(too_deep_in_toml(text).has_value(), depth > kMost) << depth << "\n" << text;
  }
}

TEST(TomlNesting, OrdinaryTextsAreNotDeep) {
  EXPECT_FALSE(too_deep_in_toml("a = [" + repeated("1.5, ", 1000) + "]\n"));
  EXPECT_FALSE(too_deep_in_toml("a = [\n" + repeated("[1.5],\n", 1000) + "]\n"));
  EXPECT_FALSE(too_deep_in_toml(repeated("a.b = 1.5\n", 1000)));
  EXPECT_FALSE(too_deep_in_toml("# " + repeated("[.", 1000) + "\na = 1"));
  for (const std::string quotes : {"\"", "'", "\"\"\"", "'''"}) {
    EXPECT_FALSE(too_deep_in_toml("a = " + quotes + repeated("[.", 1000) + quotes + "\nb = 1\n")) << quotes;
  }
  EXPECT_FALSE(
      too_deep_in_toml("a = \"\"\"x\n" + repeated("[.", 1000) + "\"\"\"\"\"\nb = \"" + repeated("[", 999) + "\""));
  EXPECT_FALSE(too_deep_in_toml("a = \"\\\"" + repeated("[.", 1000) + "\"\n"));
  EXPECT_TRUE(too_deep_in_toml("a = '\\'\nb = " + repeated("[", 1000)));
  EXPECT_TRUE(too_deep_in_toml("a = \"unclosed\nb = " + repeated("[", 1000)));
  for (const char* cut : {"\"", "\"\\", "'''", "'''a''", "[", "#", "]"}) EXPECT_FALSE(too_deep_in_toml(cut)) << cut;
}

}  // namespace
}  // namespace relucent
