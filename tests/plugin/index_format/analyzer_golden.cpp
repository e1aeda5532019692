// The analyzer against Java Lucene's EnglishAnalyzer, and the short cut for ASCII against the rules.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "plugin/index_format/analysis/english_chain.h"
#include "plugin/index_format/analysis/porter_stemmer.h"
#include "plugin/index_format/analysis/utf16.h"
#include "relucent/analysis.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using analysis::EnglishChain;
using analysis::WordSegmenter;
using analysis::WordSpan;
using nlohmann::json;
using testing::for_each_line;
using testing::golden_listing;
using testing::golden_path;

std::u16string utf16(std::string_view utf8) {
  std::u16string units;
  analysis::append_utf16(utf8, units);
  return units;
}

std::string utf8(std::u16string_view units) {
  std::string text;
  analysis::append_utf8(units, text);
  return text;
}

enum class Presence { required, optional };

/// Calls `use` with every file in analyzer/ whose name ends with `ending`; fails if a required one is missing.
void for_each_file(const char* ending, const std::function<void(const std::filesystem::path&)>& use,
                   Presence presence = Presence::required) {
  int found = 0;
  for (const std::filesystem::path& file : golden_listing("analyzer")) {
    if (!file.string().ends_with(ending)) continue;
    ++found;
    SCOPED_TRACE(file.string());
    use(file);
  }
  EXPECT_TRUE(found > 0 || presence == Presence::optional) << "no file *" << ending;
}

/// One document: tokens with increments, offsets, increment left at the end, words before the chain.
void check_document(const json& document, std::size_t& tokens, std::size_t& failures) {
  const auto text = utf16(document.at("text").get<std::string>());
  EnglishChain chain;
  chain.reset(text);
  json actual = json::array(), offsets = json::array();
  analysis::ChainToken token;
  while (chain.next(token)) {
    actual.push_back({utf8(token.term), token.position_increment});
    offsets.push_back({token.start, token.end});
  }
  tokens += actual.size();
  bool same = actual == document.at("tokens");
  if (document.contains("offsets")) same = same && offsets == document["offsets"];
  if (document.contains("end_increment")) same = same && chain.end_increment() == document["end_increment"];
  if (document.contains("raw")) {
    std::vector<WordSpan> words;
    WordSegmenter().segment_by_rules(text, words);
    bool raw = words.size() == document["raw"].size();
    for (std::size_t i = 0; raw && i < words.size(); ++i) {
      raw = document["raw"][i][0] == words[i].start && document["raw"][i][1] == words[i].end;
    }
    same = same && raw;
  }
  if (same) return;
  if (++failures <= 5) {
    ADD_FAILURE() << "text " << document.at("text") << "\n  expected " << document.at("tokens") << "\n  actual   "
                  << actual << " offsets " << offsets << " end " << chain.end_increment();
  }
}

TEST(EnglishAnalyzerGolden, EveryTokenPositionAndOffsetIsJavaLucenes) {
  RELUCENT_NEEDS(golden_path("analyzer"));
  std::size_t documents = 0, tokens = 0, failures = 0;
  const auto check_file = [&](const std::filesystem::path& file) {
    for_each_line(file, [&](const std::string& line) {
      ++documents;
      check_document(json::parse(line), tokens, failures);
    });
  };
  for_each_file("fuzz.jsonl.gz", check_file);
  for_each_file("tokens.jsonl.gz", check_file, Presence::optional);  // documents of collections, in the wider set
  EXPECT_EQ(failures, 0U) << "of " << documents;
  EXPECT_GT(tokens, 0U);
  std::cout << documents << " texts, " << tokens << " tokens\n";
}

TEST(EnglishAnalyzerGolden, EveryStemIsJavaLucenes) {
  RELUCENT_NEEDS(golden_path("analyzer"));
  std::size_t words = 0, failures = 0;
  for_each_file("stems.jsonl.gz", [&](const std::filesystem::path& file) {
    for_each_line(file, [&](const std::string& line) {
      const json pair = json::parse(line);
      auto word = utf16(pair[0].get<std::string>());
      word.resize(analysis::porter_stem(word.data(), word.size()));
      ++words;
      if (utf8(word) != pair[1].get<std::string>() && ++failures <= 5)
        ADD_FAILURE() << line << " became " << utf8(word);
    });
  });
  EXPECT_EQ(failures, 0U);
  std::cout << words << " words\n";
}

/// Class of each range as Java's scanner sees it, tried with this machine's ICU: a character of a letter class is a
/// word of its own, one of no class is none.
TEST(EnglishAnalyzerGolden, EveryCharacterHasTheClassOfJavasScanner) {
  RELUCENT_NEEDS(golden_path("analyzer"));
  for_each_file("codepoint_classes.tsv", [&](const std::filesystem::path& file) {
    std::map<char32_t, std::string> class_of;
    for_each_line(file, [&](const std::string& line) {
      if (line.empty() || line[0] == '#') return;
      std::istringstream fields(line);
      std::string first, last, name;
      fields >> first >> last >> name;
      if (name.empty()) return;
      char* end = nullptr;
      const auto from = std::strtoul(first.c_str(), &end, 16);
      if (*end != '\0') return;  // a heading
      for (auto c = from; c <= std::strtoul(last.c_str(), nullptr, 16); ++c) {
        class_of[static_cast<char32_t>(c)] = name;
      }
    });
    ASSERT_GT(class_of.size(), 1000U);
    std::map<std::string, std::pair<int, int>> alone;  // class -> characters that are words alone, that are not
    WordSegmenter segmenter;
    for (char32_t c = 1; c <= 0x10FFFF; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::u16string text;
      if (c > 0xFFFF) {
        text = {static_cast<char16_t>(0xD7C0 + (c >> 10)), static_cast<char16_t>(0xDC00 + (c & 0x3FF))};
      } else {
        text = {static_cast<char16_t>(c)};
      }
      std::vector<WordSpan> words;
      segmenter.segment_by_rules(text, words);
      const auto found = class_of.find(c);
      auto& counts = alone[found == class_of.end() ? "none" : found->second];
      ++(words.empty() ? counts.second : counts.first);
    }
    for (const auto& [name, counts] : alone) {
      EXPECT_TRUE(counts.first == 0 || counts.second == 0)
          << name << ": " << counts.first << " characters are words alone, " << counts.second << " are not";
    }
    EXPECT_EQ(alone["none"].first, 0);
  });
}

TEST(EnglishAnalyzerGolden, AsciiShortCutCutsAsTheRulesDo) {
  std::mt19937 random(7);
  WordSegmenter segmenter;
  const std::u16string alphabet = u"abZ09_:.',;#*- \t\u00e9\u2019\u05d0\"\u200d";
  std::vector<WordSpan> fast, rules;
  for (int round = 0; round < 100000; ++round) {
    const std::size_t letters = round % 3 == 0 ? alphabet.size() : 16;  // two rounds of three are pure ASCII
    std::u16string text(random() % (round % 500 == 0 ? 1500 : 14), u' ');
    for (auto& unit : text) unit = alphabet[random() % (round % 7 == 0 ? 6 : letters)];
    fast.clear();
    rules.clear();
    segmenter.segment(text, fast);
    segmenter.segment_by_rules(text, rules);
    ASSERT_EQ(fast.size(), rules.size()) << utf8(text);
    for (std::size_t i = 0; i < fast.size(); ++i) {
      ASSERT_TRUE(fast[i].start == rules[i].start && fast[i].end == rules[i].end) << utf8(text);
    }
  }
}

TEST(AnalyzeEnglish, OffsetsAreBytesOfTheText) {
  const std::string text =
      "The caf\xC3\xA9's \xF0\x9F\x98\x80 runners\xFF"
      "jumped";
  const auto tokens = analyze_english(text);
  std::vector<std::string> terms, words;
  for (const auto& token : tokens) {
    terms.push_back(token.term);
    words.push_back(text.substr(token.start, token.end - token.start));
  }
  EXPECT_EQ(terms, (std::vector<std::string>{"caf\xC3\xA9", "\xF0\x9F\x98\x80", "runner", "jump"}));
  EXPECT_EQ(words, (std::vector<std::string>{"caf\xC3\xA9's", "\xF0\x9F\x98\x80", "runners", "jumped"}));
  EXPECT_EQ(tokens.at(0).position_increment, 2);
}

}  // namespace
}  // namespace relucent
