// Records cut out of JSON and CSV are those that were written, however the bytes arrive.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "index_tools/corpora/csv_reader.h"
#include "index_tools/corpora/json_elements.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

std::string random_text(std::mt19937& random) {
  const std::vector<std::string> parts = {
      "a", "\"", "\\", "{", "}", "[", "]", ",", ":", "\n", "\r\n", "\xC3\xA9", "\xF0\x9F\x98\x80", " ", "\\\""};
  std::string text;
  for (std::size_t i = random() % 8; i > 0; --i) text += parts[random() % parts.size()];
  return text;
}

json random_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 6 : 4)) {
    case 0: return nullptr;
    case 1: return static_cast<int>(random() % 2000) - 1000;
    case 2: return random() % 2 == 0;
    case 3: return random_text(random);
    case 4: {
      json array = json::array();
      for (std::size_t i = random() % 4; i > 0; --i) array.push_back(random_value(random, depth - 1));
      return array;
    }
    default: {
      json object = json::object();
      for (std::size_t i = random() % 4; i > 0; --i) object[random_text(random)] = random_value(random, depth - 1);
      return object;
    }
  }
}

TEST(JsonElementsProperty, AreTheElementsThatAParserFinds) {
  std::mt19937 random(21);
  for (int trial = 0; trial < 3000; ++trial) {
    json array = json::array();
    for (std::size_t i = random() % 5; i > 0; --i) array.push_back(random_value(random, 3));
    const int indent = trial % 2 == 0 ? -1 : 1;
    const bool member = trial % 3 == 0;
    std::string text = array.dump(indent);
    if (member) text = json{{"a", random_value(random, 2)}, {"wanted", array}, {"x", {{"wanted", 1}}}}.dump(indent);
    testing::Pieces pieces(text, static_cast<unsigned>(random()), 9);
    ReadReport report;
    const std::string part = "part";
    JsonElements elements(pieces, part, report, member ? "wanted" : "");
    json found = json::array();
    for (std::string element; elements.next(element);) found.push_back(json::parse(element));
    ASSERT_EQ(found, array) << text;
    EXPECT_EQ(elements.number(), static_cast<std::int64_t>(array.size()));
  }
}

TEST(CsvProperty, FieldsComeBackAsTheyWereWritten) {
  std::mt19937 random(22);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    std::vector<std::vector<std::string>> written;
    for (std::size_t i = random() % 4; i > 0; --i) {
      std::vector<std::string> fields(2 + random() % 3);
      for (std::string& field : fields) {
        field = random_text(random);
        std::string quoted = field;
        for (std::size_t at = quoted.find('"'); at != std::string::npos; at = quoted.find('"', at + 2))
          quoted.insert(at, 1, '"');
        const bool plain = field.find_first_of("\",\r\n") == std::string::npos && random() % 2 == 0;
        text += (&field == &fields.front() ? "" : ",") + (plain ? field : '"' + quoted + '"');
      }
      text += random() % 2 == 0 ? "\n" : "\r\n";
      written.push_back(fields);
    }
    testing::Pieces pieces(text, static_cast<unsigned>(random()), 9);
    ReadReport report;
    const std::string part = "part";
    LineReader lines(pieces, part, report);
    CsvReader records(lines);
    std::vector<std::vector<std::string>> read;
    for (std::vector<std::string> fields; records.next(fields);) read.push_back(fields);
    ASSERT_EQ(read, written) << text;
    EXPECT_EQ(report.malformed_records(), 0);
  }
}

}  // namespace
}  // namespace relucent::index_tools
