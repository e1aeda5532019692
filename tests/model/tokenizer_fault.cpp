// Tokenizer files that are wrong or hostile: an Error that names the file and the place.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/precompiled_charsmap.h"
#include "model/tokenizer/vocabulary_file.h"
#include "relucent/error.h"
#include "tests/support/cost.h"
#include "tests/support/expect_error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/temporary_folder.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

class FaultyTokenizer : public ::testing::Test {
 protected:
  const TemporaryFolder folder;

  /// Files as they are, whatever the family's own class would make of them.
  FaultyTokenizer() { folder.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"); }

  static std::string golden(const std::string& name) {
    std::string text;
    for_each_line("tests/goldens/tokenizers/" + name + ".json.gz", [&](const std::string& line) { text += line; });
    return text;
  }

  void refused(const std::string& name, const std::string& bytes, ErrorKind kind, const std::string& place,
               const std::string& problem) const {
    folder.write(name, bytes);
    try {
      load_tokenizer(folder.path(), 1 << 24, "roberta");
      ADD_FAILURE() << "loaded " << bytes.substr(0, 300);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(error.place().find(name), std::string::npos) << error.what();
      EXPECT_NE(error.place().find(place), std::string::npos) << error.what();
      EXPECT_NE(error.problem().find(problem), std::string::npos) << error.what();
      EXPECT_FALSE(error.remedy().empty()) << error.what();
    }
  }

  void json_refused(const std::string& name, const std::function<void(json&)>& change, ErrorKind kind,
                    const std::string& place, const std::string& problem) const {
    json document = json::parse(golden(name));
    change(document);
    refused("tokenizer.json", document.dump(), kind, place, problem);
  }
};

TEST_F(FaultyTokenizer, BytesThatAreNotATokenizer) {
  constexpr auto invalid = ErrorKind::invalid_data;
  refused("tokenizer.json", "", invalid, "byte 1", "not valid JSON");
  refused("tokenizer.json", "[]", invalid, "", "not a JSON object");
  refused("tokenizer.json", "{\"model\": 1}", invalid, "key model", "is not an object");
  refused("tokenizer.json", "{\"model\": {}, \"model\": {}}", invalid, "key model", "appears twice");
  refused("tokenizer.json", "{\"a\": " + std::string(1'000'000, '['), invalid, "byte 261", "nests deeper than 256");
  refused("tokenizer.json", std::string(1'000'000, '{'), invalid, "byte 256", "nests deeper than 256");
  const std::string whole = golden("roberta");
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 50) {
    refused("tokenizer.json", whole.substr(0, size), invalid, "byte", "not valid JSON");
  }
}

TEST_F(FaultyTokenizer, UnknownComponentsAreRefusedByNameAndPlace) {
  constexpr auto unsupported = ErrorKind::unsupported;
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "model"}) {
    json_refused(
        "roberta",
        [&](json& j) {
          j[part] = {{"type", "Magic"}};
        },
        unsupported, std::string(part) + ".type", "Magic");
  }
  json_refused(
      "t5", [](json& j) { j["normalizer"]["normalizers"][1]["type"] = "Magic"; }, unsupported,
      "key normalizer.normalizers[1].type", "Magic");
  json_refused(
      "xlm-roberta", [](json& j) { j["pre_tokenizer"]["pretokenizers"][1]["type"] = "Magic"; }, unsupported,
      "key pre_tokenizer.pretokenizers[1].type", "Magic");
  json_refused(
      "split-regex", [](json& j) { j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "("; }, unsupported,
      "pretokenizers[0].pattern.Regex", "expression");
  json_refused(
      "split-regex", [](json& j) { j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Magic"; }, unsupported,
      "pretokenizers[0].behavior", "Magic");
  json_refused(
      "roberta", [](json& j) { j["model"]["dropout"] = 0.1; }, unsupported, "model.dropout", "call");
}

TEST_F(FaultyTokenizer, Merges) {
  constexpr auto invalid = ErrorKind::invalid_data;
  const auto with_merges = [&](const json& merges, const std::string& place, const std::string& problem) {
    json_refused(
        "word-ends",
        [&](json& j) {
          j["model"]["vocab"] = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4},
                                 {"a", 5},   {"b", 6},     {"ab", 7},   {"", 8}};
          if (place != "vocab") j["model"]["vocab"].erase("");
          j["model"]["merges"] = merges;
        },
        invalid, place, problem);
  };
  with_merges({"a b", "a b"}, "model.merges[1]", "repeats \"a b\"");
  with_merges(json::array({json::array({"a", "b"}), json::array({"ab", "b"})}), "model.merges[1]", "no entry \"abb\"");
  with_merges({"a c"}, "model.merges[0]", "no entry \"c\"");
  with_merges({" a"}, "model.merges[0]", "no entry \"\"");
  with_merges({"a b", "a  b"}, "model.merges[1]", "not a pair");
  with_merges({"a b", 7}, "model.merges[1]", "not a pair");
  with_merges(json::array({json::array({"a"})}), "model.merges[0]", "not a pair");
  with_merges("a b", "model.merges", "not an array");
  with_merges({}, "vocab", "empty entry");
}

TEST_F(FaultyTokenizer, UnigramVocabularies) {
  constexpr auto invalid = ErrorKind::invalid_data;
  const auto set = [](const char* key, const json& value) { return [=](json& j) { j["model"][key] = value; }; };
  json_refused("bge-m3", set("unk_id", 1'000'000), invalid, "model.unk_id", "1000000");
  json_refused("bge-m3", set("unk_id", -1), invalid, "model.unk_id", "-1");
  json_refused("bge-m3", set("vocab", json::array()), invalid, "model.vocab", "is empty");
  json_refused("bge-m3", set("vocab", json::object()), invalid, "model.vocab", "not an array");
  json_refused("bge-m3", set("vocab", json::array({json::array({"a", 1}), json::array({"b"})})), invalid,
               "model.vocab[1]", "entry with a score");
  json_refused("bge-m3", set("vocab", json::array({json::array({"a", 1}), json::array({"", 1})})), invalid,
               "model.vocab[1]", "is empty");
  json_refused("bge-m3", set("byte_fallback", 1), invalid, "model.byte_fallback", "not true or false");
  const std::string text = golden("bge-m3");
  const std::size_t score = text.find("[\"<s>\",") + 7;
  refused("tokenizer.json", text.substr(0, score) + "1e999" + text.substr(text.find(']', score)), invalid, "byte ",
          "out of range");
}

TEST_F(FaultyTokenizer, AddedTokensAndTemplates) {
  constexpr auto invalid = ErrorKind::invalid_data;
  json_refused(
      "roberta", [](json& j) { j["added_tokens"][1]["id"] = 1ULL << 40; }, invalid, "added_tokens[1].id",
      "1099511627776");
  json_refused(
      "roberta", [](json& j) { j["added_tokens"][1]["id"] = 7; }, invalid, "added_tokens[1]", "also 1");
  json_refused(
      "roberta", [](json& j) { j["added_tokens"][1]["content"] = "new"; }, invalid, "added_tokens[1]", "id 1 again");
  json_refused(
      "roberta", [](json& j) { j["added_tokens"].push_back(j["added_tokens"][1]); }, invalid, "added_tokens[5]",
      "id 1 again");
  json_refused(
      "roberta", [](json& j) { j["added_tokens"][1].erase("lstrip"); }, invalid, "added_tokens[1].lstrip", "missing");
  json_refused(
      "roberta", [](json& j) { j["post_processor"]["sep"][1] = 1 << 20; }, invalid, "post_processor.sep[1]",
      "whole number");
  json_refused(
      "bge-m3", [](json& j) { j["post_processor"]["special_tokens"].erase("</s>"); }, invalid,
      "post_processor.special_tokens.</s>", "missing");
  json_refused(
      "bge-m3", [](json& j) { j["post_processor"]["pair"].erase(1); }, ErrorKind::unsupported, "post_processor.pair",
      "order");
}

TEST_F(FaultyTokenizer, TablesOfReplacements) {
  constexpr auto invalid = ErrorKind::invalid_data;
  const auto set = [](const std::string& map) {
    return [=](json& j) { j["normalizer"]["normalizers"][0]["precompiled_charsmap"] = map; };
  };
  const std::string place = "normalizer.normalizers[0].precompiled_charsmap";
  const std::string sound = json::parse(golden("bge-m3"))["normalizer"]["normalizers"][0]["precompiled_charsmap"];
  json_refused("bge-m3", set("%%%%"), invalid, place, "base64");
  json_refused("bge-m3", set(sound.substr(1)), invalid, place, "base64");
  json_refused("bge-m3", set(""), invalid, place, "damaged");
  json_refused("bge-m3", set(sound.substr(0, 4000)), invalid, place, "damaged");
  json_refused("bge-m3", set("/////w" + sound.substr(6)), invalid, place, "damaged");
}

TEST_F(FaultyTokenizer, ASentencePieceModelCutAnywhere) {
  const std::string whole = bytes_of("tests/goldens/tokenizers/sentencepiece-unigram.model");
  std::size_t cuts = 0;
  for (std::size_t size = 0; size + 64 < whole.size(); size += size < 2000 ? 1 : 97) {
    refused("a.model", whole.substr(0, size), ErrorKind::invalid_data, "byte ", "ends too early");
    ++cuts;
  }
  EXPECT_GT(cuts, 2500U);
  refused("a.model", "no model", ErrorKind::invalid_data, "byte ", "");
}

/// A field of a message: its tag and its bytes, fewer than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

TEST_F(FaultyTokenizer, PiecesThatTheSentencePieceLibraryWouldTrip) {
  constexpr auto invalid = ErrorKind::invalid_data;
  const auto model = [](const std::string& pieces) {
    return field(1, field(1, "<unk>") + "\x18\x02") + field(1, field(1, "<s>") + "\x18\x03") +
           field(1, field(1, "</s>") + "\x18\x03") + pieces + field(2, "") + field(3, "");
  };
  folder.write("a.model", model(field(1, field(1, "a"))));
  EXPECT_EQ(load_tokenizer(folder.path(), 100, "roberta").tokenizer->vocabulary_size(), 4);
  refused("a.model", model(field(1, field(1, ""))), invalid, "byte", "piece 3 is empty");
  refused("a.model", model(field(1, field(1, std::string("a\0b", 3)))), invalid, "byte", "piece 3 is not text");
  refused("a.model", model(field(1, field(1, "\xFF"))), invalid, "byte", "piece 3 is not text");
  refused("a.model", model(field(1, field(1, "a") + std::string("\x15\0\0\xC0\x7F", 5))), invalid, "byte",
          "not finite");
  std::string nested;
  for (std::size_t size = 1; size <= 65; ++size) nested += field(1, field(1, std::string(size, 'a')) + "\x18\x04");
  refused("a.model", model(nested), invalid, "byte", "begin with each other");
  refused("a.model", model(field(1, field(1, "a")) + field(1, field(1, "a"))), invalid, "", "already defined");
  refused("a.model", model("").substr(2), invalid, "", "");
}

TEST_F(FaultyTokenizer, ModelsCutAtEveryPowerOfTwo) {
  for (const char* name : {"sentencepiece-unigram", "sentencepiece-t5", "sentencepiece-bpe"}) {
    const std::string whole = bytes_of("tests/goldens/tokenizers/" + std::string(name) + ".model");
    for (std::size_t size = 1; size < whole.size(); size *= 2) {
      refused("a.model", whole.substr(0, size), ErrorKind::invalid_data, "byte ", "");
    }
  }
}

/// A tokenizer.json without special tokens.
json bpe(json vocabulary, json merges) {
  return {{"model", {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}}}};
}

/// Small files that ask for much memory or time get neither.
TEST_F(FaultyTokenizer, ModestFilesTakeModestMemoryAndTime) {
  constexpr auto invalid = ErrorKind::invalid_data, unsupported = ErrorKind::unsupported;
  const auto refuse_all = [&] {
    refused("tokenizer.json", bpe({{"a", (1 << 24) - 1}}, json::array()).dump(), invalid, "model.vocab",
            "there are only 1 entries");
    json_refused(
        "bert-uncased-added",
        [](json& j) { j["added_tokens"][0]["id"] = (1 << 24) - 1, j["added_tokens"][0]["content"] = "unheard"; },
        invalid, "added_tokens", "there are only");
    // Components that each compile an expression, and expressions whose classes stand for long sets.
    const json split = {
        {"type", "Split"}, {"pattern", {{"Regex", "\\p{L}\\p{N}"}}}, {"behavior", "Isolated"}, {"invert", false}};
    json_refused(
        "roberta",
        [&](json& j) {
          j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array()}};
          for (int i = 0; i < 20'000; ++i) j["pre_tokenizer"]["pretokenizers"].push_back(split);
        },
        unsupported, "pre_tokenizer", "256 components");
    for (const std::string& part : {std::string("\\p{L}"), std::string("("), std::string("[[]")}) {
      json_refused(
          "roberta",
          [&](json& j) {
            j["pre_tokenizer"] = split;
            std::string all;
            for (int i = 0; i < 100'000; ++i) all += part;
            j["pre_tokenizer"]["pattern"]["Regex"] = all;
          },
          unsupported, "pattern.Regex", "4096 bytes");
      json_refused(
          "roberta",
          [&](json& j) {
            j["pre_tokenizer"] = split;
            j["pre_tokenizer"]["pattern"]["Regex"] = std::string(4000, '(');
          },
          unsupported, "pattern.Regex", "not supported");
    }
    // A template that repeats a list of ids.
    json_refused(
        "bge-m3",
        [](json& j) {
          j["post_processor"]["special_tokens"]["</s>"]["ids"] = json::array_t(20'000, 2);
          json& pair = j["post_processor"]["pair"];
          const json again = pair.back();
          for (int i = 0; i < 20'000; ++i) pair.push_back(again);
        },
        unsupported, "post_processor.pair", "64 special tokens");
    json_refused(
        "bge-m3",
        [](json& j) {
          j["model"]["vocab"].push_back({std::string(1025, 'a'), -1});
        },
        invalid, "model.vocab[", "longer than 1024 bytes");
  };
  const Cost cost = cost_of(refuse_all);
  EXPECT_LT(cost.bytes, std::size_t{200} << 20);
  EXPECT_LT(cost.seconds, 30);
}

/// A tree takes up to thirty times the bytes of its text.
TEST_F(FaultyTokenizer, FilesOfManyValues) {
  constexpr std::size_t kMostBytesOfFile = std::size_t{256} << 20, kMostValues = 4'000'000;
  for (const std::string value : {"[],", "\"\",", "{\"a\":0},"}) {
    SCOPED_TRACE(value);
    std::string text = "{\"a\":[";
    while (text.size() + value.size() + 3 < kMostBytesOfFile) text += value;
    expect_affordable(
        [&] { refused("tokenizer.json", text + "0]}", ErrorKind::invalid_data, "byte ", "4000000 values"); });
    const std::size_t each = static_cast<std::size_t>(std::ranges::count_if(
        value, [](char c) { return std::string_view("[{,:").find(c) != std::string_view::npos; }));
    text.resize(6 + (kMostValues - 10) / each * value.size());
    expect_affordable(
        [&] { refused("tokenizer.json", text + "0]}", ErrorKind::invalid_data, "key model", "is missing"); });
  }
}

json regex_split(const std::string& expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

/// An expression that tries exponentially many ways had its seconds for each piece of a text.
TEST_F(FaultyTokenizer, SlowExpressionsEndForAllPiecesOfATextTogetherAndAtADeadline) {
  json document = json::parse(golden("roberta"));
  document["pre_tokenizer"] = {{"type", "Sequence"},
                               {"pretokenizers", {{{"type", "WhitespaceSplit"}}, regex_split("(a|aa)+$")}}};
  folder.write("tokenizer.json", document.dump());
  const auto tokenizer = std::move(load_tokenizer(folder.path(), 1 << 24, "roberta").tokenizer);
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(31, 'a') + "b ";
  std::vector<std::int32_t> ids;
  std::clock_t started = std::clock();
  expect_error(ErrorKind::unsupported, "takes too long", [&] { tokenizer->encode(text, 1 << 20, ids); });
  EXPECT_LT(std::clock() - started, 15 * CLOCKS_PER_SEC);  // usually 2 seconds
  StopSignal soon;
  soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  started = std::clock();
  expect_error(ErrorKind::deadline, [&] { tokenizer->encode(text, 1 << 20, ids, soon); });
  EXPECT_LT(std::clock() - started, CLOCKS_PER_SEC);
}

/// Components that rewrite the text left no budget to the expressions after them, which ended the process.
TEST_F(FaultyTokenizer, SlowExpressionsEndAlsoBehindComponentsThatRewriteTheText) {
  const json rewriting[] = {
      {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "never"}, {"split", true}},
      {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}};
  for (const json& component : rewriting) {
    json document = json::parse(golden("roberta"));
    document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {component, regex_split("(a|aa)+$")}}};
    folder.write("tokenizer.json", document.dump());
    const auto tokenizer = std::move(load_tokenizer(folder.path(), 1 << 24, "roberta").tokenizer);
    std::vector<std::int32_t> ids;
    tokenizer->encode("aa b aaa", 1 << 20, ids);
    EXPECT_FALSE(ids.empty());
    StopSignal soon;
    soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    expect_error(ErrorKind::deadline, [&] { tokenizer->encode(std::string(60, 'a') + "!", 1 << 20, ids, soon); });
  }
}

/// A table that replaces "a" by so many bytes.
std::string table_of_replacements(std::size_t bytes) {
  std::vector<std::uint32_t> units(1024);
  units[0] = 256U << 10;
  units[256 ^ 'a'] = 512U << 10 | 1U << 8 | 'a';
  units[256 ^ 'a' ^ 512] = 1U << 31;
  const std::uint32_t size = 4 * 1024;
  std::string table(reinterpret_cast<const char*>(&size), sizeof size);
  table.append(reinterpret_cast<const char*>(units.data()), size);
  return table + std::string(bytes, 'x') + std::string(1, '\0');
}

/// A text of 4,000 characters took 4 GB with a replacement of 1 MiB.
TEST_F(FaultyTokenizer, ReplacementsAreNotLongerThanRealOnes) {
  const auto usual = PrecompiledCharsmap::parse(table_of_replacements(128));
  ASSERT_TRUE(usual);
  std::string text = "bab";
  usual->apply(text);
  EXPECT_EQ(text, "b" + std::string(128, 'x') + "b");
  EXPECT_FALSE(PrecompiledCharsmap::parse(table_of_replacements(129)));
  EXPECT_FALSE(PrecompiledCharsmap::parse(table_of_replacements(1 << 20)));
  json_refused(
      "roberta",
      [](json& j) {
        j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "b"}}}, {"content", std::string(1 << 20, 'a')}};
      },
      ErrorKind::unsupported, "normalizer.content", "longer than 128 bytes");
}

/// A model of the SentencePiece library with this table. A later field of a message takes the place of an earlier one.
std::string with_table(const std::string& model, const std::string& table) {
  const auto field = [](char tag, const std::string& bytes) {
    std::string length;
    for (std::size_t rest = bytes.size(); length.empty() || rest > 0; rest >>= 7) {
      length += static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
    }
    return tag + length + bytes;
  };
  constexpr char kNormalizer = 3 << 3 | 2, kCharsmap = 2 << 3 | 2;
  return model + field(kNormalizer, field(kCharsmap, table));
}

/// The library takes some 40 bytes for each of a normalized text: a text of 16 characters took 4 GB when each became
/// 1 MiB, and one of a megabyte 9 GB and a minute when each became 36.
TEST_F(FaultyTokenizer, LongReplacementsInSentencePieceModels) {
  const std::string text(std::size_t{1} << 17, 'a');
  for (const char* name : {"sentencepiece-bpe", "sentencepiece-unigram", "sentencepiece-t5"}) {
    const std::string model = bytes_of("tests/goldens/tokenizers/" + std::string(name) + ".model");
    for (const std::string family : {"roberta", "t5"}) {                       // by the library, and converted
      if (family == "roberta" && std::string(name).ends_with("t5")) continue;  // it lacks the special tokens
      for (const std::size_t bytes : {36, 37, 128}) {
        SCOPED_TRACE(std::string(name) + " " + family + " " + std::to_string(bytes));
        const TemporaryFolder checkpoint;
        checkpoint.write("a.model", with_table(model, table_of_replacements(bytes)));
        const auto tokenizer = std::move(load_tokenizer(checkpoint.path(), 1 << 24, family).tokenizer);
        // Unknown letters are one piece however many they are, so the library would read all of the text.
        expect_affordable([&] {
          std::vector<std::int32_t> ids;
          try {
            tokenizer->encode(text, 20'000, ids);
          } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::unsupported) << error.what();
            EXPECT_NE(error.problem().find("many times longer"), std::string::npos) << error.what();
          }
        });
      }
      for (const std::size_t bytes : {129, 1 << 20}) {
        refused("a.model", with_table(model, table_of_replacements(bytes)), ErrorKind::invalid_data, "", "");
      }
    }
  }
}

/// The library copies a run of unknown characters once per character: 1 MiB took a minute, whatever the deadline.
TEST_F(FaultyTokenizer, RunsOfUnknownCharactersInSentencePieceModels) {
  for (const char* name : {"sentencepiece-bpe", "sentencepiece-unigram"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder checkpoint;
    checkpoint.write("a.model", bytes_of("tests/goldens/tokenizers/" + std::string(name) + ".model"));
    const auto tokenizer = std::move(load_tokenizer(checkpoint.path(), 1 << 24, "roberta").tokenizer);
    std::string text;
    while (text.size() < (std::size_t{1} << 19)) text += "\xF0\x93\x80\x80";  // U+13000, a hieroglyph
    std::vector<std::int32_t> ids;
    expect_affordable([&] { tokenizer->encode(text, std::size_t{1} << 20, ids); });
    EXPECT_FALSE(ids.empty());
  }
}

/// At each place of a text, the search looks as far as the longest entry.
TEST_F(FaultyTokenizer, EntriesAreNotLongerThanRealOnes) {
  const std::string entry(60'000, 'a');
  json_refused(
      "bert-uncased-added", [&](json& j) { j["added_tokens"][0]["content"] = entry; }, ErrorKind::unsupported,
      "added_tokens", "longer than 1024 bytes");
  json_refused(
      "roberta",
      [](json& j) {
        j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "b"}}}, {"content", std::string(100, 'a')}};
        json token = j["added_tokens"][4];
        token["id"] = j["model"]["vocab"].size(), token["content"] = std::string(100, 'b'), token["normalized"] = true;
        j["added_tokens"].push_back(token);
      },
      ErrorKind::unsupported, "added_tokens", "longer than 1024 bytes");
  refused("tokenizer.json", bpe({{entry, 0}}, json::array()).dump(), ErrorKind::unsupported, "model.vocab",
          "longer than 1024 bytes");
  const json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"added_tokens_decoder", {{"5", {{"content", entry}}}}}};
  refused("tokenizer_config.json", config.dump(), ErrorKind::invalid_data, "added_tokens_decoder",
          "more than 1024 bytes");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  refused("added_tokens.json", json{{entry, 5U}}.dump(), ErrorKind::invalid_data, "key aaaa", "more than 1024 bytes");
  folder.write("vocab.txt", "[PAD]\n" + entry + "\n");
  expect_error(ErrorKind::invalid_data, "line 2: is longer than 1024 bytes",
               [&] { read_vocabulary_lines(folder / "vocab.txt"); });
}

TEST_F(FaultyTokenizer, SparseVocabularyOfGigabytes) {
  folder.write("vocab.txt", "[PAD]\n");
  std::filesystem::resize_file(folder / "vocab.txt", std::uint64_t{4} << 30);
  expect_affordable([&] {
    expect_error(ErrorKind::invalid_data, "vocab.txt", [&] { read_vocabulary_lines(folder / "vocab.txt"); });
  });
}

TEST_F(FaultyTokenizer, TextsDoNotGrowWithoutBound) {
  json document = json::parse(golden("roberta"));
  json& all = document["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
  for (int i = 0; i < 100; ++i) {
    all["normalizers"].push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  }
  const auto encode = [&] {
    folder.write("tokenizer.json", document.dump());
    const auto tokenizer = std::move(load_tokenizer(folder.path(), 1 << 24, "roberta").tokenizer);
    std::vector<std::int32_t> ids;
    tokenizer->encode("a \xC3\xA9", 1000, ids);
  };
  expect_error(ErrorKind::unsupported, "many times longer", encode);
  document["normalizer"] = nullptr;
  document["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", json::array()}};
  for (int i = 0; i < 100; ++i) {
    document["pre_tokenizer"]["pretokenizers"].push_back(
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  }
  expect_error(ErrorKind::unsupported, "many times longer", encode);
}

/// Merges that lead back to themselves cannot be: a merge's result is longer than its parts.
TEST_F(FaultyTokenizer, MergesThatLeadBackToThemselves) {
  const json special = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4}};
  json vocabulary = special;
  vocabulary.update({{"a", 5}, {"b", 6}, {"ab", 7}, {"ba", 8}, {"aba", 9}, {"##", 10}, {"##a", 11}});
  json document = bpe(vocabulary, {"a b", "b a", "ab a", "a ba"});
  folder.write("tokenizer.json", document.dump());
  const auto tokenizer = std::move(load_tokenizer(folder.path(), 100, "roberta").tokenizer);
  std::vector<std::int32_t> ids;
  tokenizer->encode("ababab", 100, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{7, 7, 7}));
  // With a prefix that the second part loses, "a" + "##" would be "a" again.
  document["model"]["continuing_subword_prefix"] = "##";
  document["model"]["merges"] = {"a ##"};
  refused("tokenizer.json", document.dump(), ErrorKind::invalid_data, "model.merges[0]", "into itself");
}

TEST_F(FaultyTokenizer, ManyMergesTakeLinearTime) {
  json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}, {"<mask>", 4}}, merges = json::array();
  int id = 5;
  const auto letter = [](int i) {
    return std::string("\xE4\xB8") + static_cast<char>(0x80 + i % 64) + "\xE5\x80" + static_cast<char>(0x80 + i / 64);
  };
  constexpr int kLetters = 330;
  for (int i = 0; i < kLetters; ++i) vocabulary[letter(i)] = id++;
  for (int i = 0; i < kLetters; ++i) {
    for (int j = 0; j < kLetters; ++j) {
      vocabulary[letter(i) + letter(j)] = id++;
      merges.push_back({letter(i), letter(j)});
    }
  }
  ASSERT_GT(merges.size(), 100'000U);
  const std::clock_t started = std::clock();
  folder.write("tokenizer.json", bpe(vocabulary, merges).dump());
  EXPECT_EQ(load_tokenizer(folder.path(), id, "roberta").tokenizer->vocabulary_size(), id);
  merges.push_back(merges.front());
  refused("tokenizer.json", bpe(vocabulary, merges).dump(), ErrorKind::invalid_data,
          "model.merges[" + std::to_string(merges.size() - 1) + "]", "repeats");
  EXPECT_LT(std::clock() - started, 30 * CLOCKS_PER_SEC);  // usually one second
}

}  // namespace
}  // namespace relucent::testing
