// A JsonTree is what nlohmann::json::parse() reads, and refuses what that refuses, at the same byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/json_tree.h"
#include "tests/support/random_json.h"

namespace relucent {
namespace {

using nlohmann::json;

TEST(JsonTrees, AreWhatTheLibraryParses) {
  std::mt19937 random(1);
  int read = 0, refused = 0, out_of_range = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = testing::damaged_json(random, 4);
    JsonTree tree;
    const auto problem = tree.read(text);
    try {
      const json expected = json::parse(text);
      ASSERT_FALSE(problem) << text;
      ASSERT_EQ(tree->dump(), expected.dump()) << text;
      ++read;
    } catch (const json::parse_error& error) {
      ASSERT_TRUE(problem && !problem->out_of_range) << text;
      ASSERT_EQ(problem->byte, error.byte) << text;
      ++refused;
    } catch (const json::out_of_range&) {
      ASSERT_TRUE(problem && problem->out_of_range) << text;
      ++out_of_range;
    }
    ASSERT_TRUE(!problem || tree->is_null());
  }
  EXPECT_GT(read, 5000);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(out_of_range, 50);
}

TEST(JsonTrees, TellOfNamesThatOccurAgain) {
  std::vector<std::string> names;
  JsonTree tree;
  const auto problem = tree.read(R"({"a": [{"b": 1}], "b": {"a": 2, "b": 3}, "a": {"c": 4}, "a": 5})",
                                 [&](const std::string& name) { names.push_back(name); });
  EXPECT_FALSE(problem);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ(tree->dump(), R"({"a":5,"b":{"a":2,"b":3}})");
}

}  // namespace
}  // namespace relucent
