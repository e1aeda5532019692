// Damaged tokenizer files, with a fixed seed: every one is refused by an Error or gives ids of its vocabulary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "model/tokenizer/load_tokenizer.h"
#include "relucent/error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

using nlohmann::json;
using Random = std::mt19937;

/// Any value of a document, chosen by going down at random.
json& any_value(json& document, Random& random) {
  json* value = &document;
  while (value->is_structured() && !value->empty() && random() % 8 != 0) {
    auto child = value->begin();
    std::advance(child, static_cast<std::ptrdiff_t>(random() % value->size()));
    value = &*child;
  }
  return *value;
}

json strange_value(Random& random) {
  static const std::vector<json> values{nullptr,
                                        true,
                                        false,
                                        0,
                                        1,
                                        -1,
                                        3,
                                        2000,
                                        1ULL << 24,
                                        1ULL << 63,
                                        0.5,
                                        -1e300,
                                        "",
                                        " ",
                                        "a",
                                        "[UNK]",
                                        "\u2581",
                                        "##",
                                        "(a+)+b",
                                        "\\p{L}*",
                                        json::array(),
                                        json::object(),
                                        json::array({"a", 1}),
                                        json::array({"a", "b"})};
  return values[random() % values.size()];
}

void damage_bytes(std::string& bytes, Random& random) {
  const std::size_t at = random() % bytes.size();
  switch (random() % 5) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: bytes.resize(at + 1); break;
    case 3: bytes.erase(at, 1 + random() % 12); break;
    default: bytes.insert(at, bytes.substr(at, 1 + random() % 12)); break;
  }
  if (bytes.empty()) bytes = "x";
}

class Outcomes {
 public:
  void load(const std::string& name, const std::string& bytes, const char* model_type) {
    folder_.write(name, bytes);
    // A tokenizer.json as it is; a *.model as the family's own class converts it.
    if (name == "tokenizer.json") {
      folder_.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
    }
    try {
      const auto tokenizer = std::move(load_tokenizer(folder_.path(), 1 << 24, model_type).tokenizer);
      for (const std::string text :
           {"A few words, as in don't; caf\u00e9 \u5317\u4eac 123", " \xFF\u2581x\u0301\ufb01\n  </s> <0x41> tok", "",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
        std::vector<std::int32_t> ids;
        tokenizer->encode(text, 1000, ids);
        for (const std::int32_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer->vocabulary_size()) << id;
      }
      ++loaded;
    } catch (const Error& error) {
      ASSERT_FALSE(error.problem().empty());
      ASSERT_NE(error.place().find(folder_.path().string()), std::string::npos) << error.what();
      ++refused;
    }
  }

  int loaded = 0, refused = 0;

 private:
  TemporaryFolder folder_;
};

/// A tokenizer.json with a shorter vocabulary, so that damage hits all of it.
json shortened(const std::string& name) {
  std::string text;
  for_each_line("tests/goldens/tokenizers/" + name + ".json.gz", [&](const std::string& line) { text += line; });
  json document = json::parse(text);
  json& model = document["model"];
  if (model["vocab"].is_array() && model["vocab"].size() > 60) {
    model["vocab"].get_ref<json::array_t&>().resize(60);
  } else if (model["vocab"].is_object()) {
    json kept;
    for (const auto& [entry, id] : model["vocab"].items()) {
      if (id < 330) kept[entry] = id;
    }
    model["vocab"] = kept;
    if (model.contains("merges")) {
      json merges = json::array();
      for (const json& merge : model["merges"]) {
        const std::string whole = merge[0].get<std::string>() + merge[1].get<std::string>();
        if (kept.contains(merge[0]) && kept.contains(merge[1]) && kept.contains(whole)) merges.push_back(merge);
      }
      model["merges"] = merges;
    }
  }
  return document;
}

class TokenizerJsonFuzz : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerJsonFuzz, ValuesReplacedAndBytesDamaged) {
  const json sound = shortened(GetParam());
  Outcomes outcomes;
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    json changed = sound;
    for (std::size_t i = 0, times = 1 + random() % 3; i < times; ++i)
      any_value(changed, random) = strange_value(random);
    ASSERT_NO_FATAL_FAILURE(outcomes.load("tokenizer.json", changed.dump(), "roberta"));
    std::string bytes = sound.dump();
    for (std::size_t i = 0, times = 1 + random() % 3; i < times; ++i) damage_bytes(bytes, random);
    ASSERT_NO_FATAL_FAILURE(outcomes.load("tokenizer.json", bytes, "roberta"));
  }
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.loaded, 0);
  std::cout << outcomes.refused << " refused, " << outcomes.loaded << " loaded\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerJsonFuzz,
                         ::testing::Values("bert-uncased-added", "roberta-prefix", "split-regex", "byte-fallback",
                                           "word-continuations", "t5", "metaspace-first"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(SentencePieceFuzz, BytesDamaged) {
  Outcomes outcomes;
  Random random(12);
  for (const char* name : {"sentencepiece-unigram", "sentencepiece-t5", "sentencepiece-bpe"}) {
    const std::string sound = bytes_of("tests/goldens/tokenizers/" + std::string(name) + ".model");
    const std::size_t pieces = 45000;  // about; the table of replacements follows
    for (int round = 0; round < 600; ++round) {
      std::string bytes = sound;
      // In the pieces and settings, or in the table.
      const bool in_table = round % 2 == 0;
      std::string part = in_table ? bytes.substr(std::min(pieces, bytes.size() / 2)) : bytes.substr(0, pieces);
      for (std::size_t i = 0, times = 1 + random() % 3; i < times; ++i) {
        if (random() % 2 == 0) {
          part[random() % part.size()] = static_cast<char>(random());
        } else {
          damage_bytes(part, random);
        }
      }
      bytes = in_table ? bytes.substr(0, std::min(pieces, bytes.size() / 2)) + part : part + bytes.substr(pieces);
      ASSERT_NO_FATAL_FAILURE(
          outcomes.load("a.model", bytes, std::string(name).ends_with("t5") ? "t5" : "xlm-roberta"));
    }
  }
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.loaded, 0);
  std::cout << outcomes.refused << " refused, " << outcomes.loaded << " loaded\n";
}

}  // namespace
}  // namespace relucent::testing
