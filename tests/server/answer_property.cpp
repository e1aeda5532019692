// An Answer is written and read as nlohmann::ordered_json.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/answer.h"
#include "tests/support/random_json.h"

namespace relucent::server {
namespace {

using Ordered = nlohmann::ordered_json;
using Random = std::mt19937;

std::string dump(const Ordered& json) { return json.dump(-1, ' ', false, Ordered::error_handler_t::replace); }

/// Any bytes, most of them no UTF-8.
std::string bytes(Random& random) {
  std::string text(random() % 12, '\0');
  for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? random() : ' ' + random() % 95);
  return text;
}

/// The same random value of both kinds.
void make(Random& random, int depth, Answer& answer, Ordered& json) {
  const auto set = [&](const auto& value) { answer = value, json = value; };
  switch (random() % (depth > 0 ? 11 : 8)) {
    case 0: return set(nullptr);
    case 1: return set(random() % 2 == 0);
    case 2: return set(static_cast<std::int32_t>(random()));
    case 3: return set((std::uint64_t{random()} << 32) + random());
    case 4: return set(std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100));
    case 5: return set(static_cast<double>(random() % 10) / (random() % 3));  // also what is not finite
    case 6: return set(bytes(random));
    case 7: return set("text");
    case 8: {
      answer = Answer::array(), json = Ordered::array();
      for (auto count = random() % 4; count > 0; --count) {
        answer.push_back(nullptr), json.push_back(nullptr);
        make(random, depth - 1, answer.back(), json.back());
      }
      return;
    }
    default: {
      answer = Answer::object(), json = Ordered::object();
      for (auto count = random() % 5; count > 0; --count) {
        const std::string name =
            random() % 3 == 0 ? bytes(random) : std::string(1, static_cast<char>('a' + random() % 3));
        make(random, depth - 1, answer[name], json[name]);
        if (random() % 5 == 0) answer.erase("b"), json.erase("b");
      }
    }
  }
}

TEST(Answers, AreWrittenAsTheLibraryWritesThem) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    Answer answer;
    Ordered json;
    make(random, 4, answer, json);
    ASSERT_EQ(to_text(answer), dump(json));
    const Answer copy = answer;
    ASSERT_EQ(to_text(copy), dump(json));
    Answer other;
    Ordered other_json;
    make(random, 2, other, other_json);
    if (answer.is_object() && other.is_object()) {
      answer.update(std::move(other)), json.update(other_json);
      ASSERT_EQ(to_text(answer), dump(json));
    }
  }
}

TEST(Answers, AreReadAsTheLibraryReadsThem) {
  Random random(2);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = testing::damaged_json(random, 4);
    const Ordered json = Ordered::parse(text, nullptr, false);
    const Answer answer = Answer::parse(text);
    ASSERT_EQ(to_text(answer), json.is_discarded() ? "null" : dump(json)) << text;
    read += json.is_discarded() ? 0 : 1;
  }
  EXPECT_GT(read, 5000);
}

TEST(Answers, InBracesMeanWhatTheyMeanInTheLibrary) {
  const std::string text = "t";
  const std::vector<std::string> names = {"x", "y"};
#define RELUCENT_SAME(...) EXPECT_EQ(to_text(Answer(__VA_ARGS__)), dump(Ordered(__VA_ARGS__)))
  RELUCENT_SAME({{"a", 1}, {"b", {{"c", nullptr}}}});
  RELUCENT_SAME({{"a", {1, 2}}, {"b", {"x", "y"}}, {text, {{"x", "y"}}}});
  RELUCENT_SAME({{"a", names}, {"b", names.size()}});
  RELUCENT_SAME({1, {"a", 2}, {{"a", 2}}});
  RELUCENT_SAME({{"a", 1}, {2, 3}});
  RELUCENT_SAME({{"a", 1, 2}});
#undef RELUCENT_SAME
  EXPECT_EQ(to_text(Answer::array({{"a", 1}})), dump(Ordered::array({{"a", 1}})));
  EXPECT_EQ(to_text(Answer::array({{{"a", 1}}})), dump(Ordered::array({{{"a", 1}}})));
  Answer answer{{"a", 1}};
  answer["b"] = {{"c", "d"}};
  answer["e"] = {"f"};
  answer["g"]["h"] = {{"i", {"j", "k"}}};
  answer.add("l", Answer::verbatim("[ 1 ]"));
  EXPECT_EQ(to_text(answer), R"({"a":1,"b":{"c":"d"},"e":["f"],"g":{"h":{"i":["j","k"]}},"l":[ 1 ]})");
}

}  // namespace
}  // namespace relucent::server
