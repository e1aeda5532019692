// Each language's analyzer against Java Lucene's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "plugin/index_format/analysis/languages/language_chain.h"
#include "plugin/index_format/analysis/languages/language_terms.h"
#include "plugin/index_format/analysis/utf16.h"
#include "relucent/analysis.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using nlohmann::json;
using testing::for_each_line;
using testing::golden_listing;
using testing::golden_path;

/// The languages whose tokens are Java Lucene's: all but Japanese and Thai, which Java cuts into words by other
/// dictionaries.
const std::set<std::string> kExact = {"arabic",     "bengali", "chinese",    "dutch",   "finnish", "french",
                                      "german",     "hindi",   "indonesian", "italian", "korean",  "persian",
                                      "portuguese", "russian", "simple",     "spanish", "swedish", "turkish"};

struct Counts {
  std::size_t texts = 0, tokens = 0, differ = 0;
};

json tokens_of(analysis::TokenChain& chain, std::u16string_view text) {
  chain.reset(text);
  json tokens = json::array(), offsets = json::array();
  analysis::ChainToken token;
  while (chain.next(token)) {
    std::string term;
    analysis::append_utf8(token.term, term);
    tokens.push_back({term, token.position_increment});
    offsets.push_back({token.start, token.end});
  }
  return {{"tokens", tokens}, {"offsets", offsets}, {"end_increment", chain.end_increment()}};
}

void check_text(analysis::TokenChain& chain, json expected, Counts& counts) {
  std::u16string text;
  analysis::append_utf16(expected.at("text").get<std::string>(), text);
  const json actual = tokens_of(chain, text);
  chain.rewind();
  analysis::ChainToken first;
  if (chain.next(first)) {
    EXPECT_EQ(first.position_increment, actual["tokens"][0][1]);
  }
  ++counts.texts;
  counts.tokens += actual["tokens"].size();
  const json shown = expected.at("text");
  expected.erase("text");
  if (actual != expected && ++counts.differ <= 3) {
    ADD_FAILURE() << "text " << shown << "\n  expected " << expected << "\n  actual   " << actual;
  }
}

TEST(LanguagesGolden, EveryTokenPositionAndOffsetIsJavaLucenes) {
  RELUCENT_NEEDS(golden_path("languages"));
  std::set<std::string> seen;
  for (const std::filesystem::path& file : golden_listing("languages")) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".tokens.jsonl.gz")) continue;
    const std::string language = name.substr(0, name.find('.'));
    if (!kExact.contains(language)) continue;
    SCOPED_TRACE(name);
    seen.insert(language);
    const auto chain = analysis::make_chain(analyzer_from(language).value());
    Counts counts;
    for_each_line(file, [&](const std::string& line) { check_text(*chain, json::parse(line), counts); });
    EXPECT_EQ(counts.differ, 0U);
    EXPECT_GT(counts.tokens, 0U);
    std::cout << name << ": " << counts.texts << " texts, " << counts.tokens << " tokens\n";
  }
  EXPECT_EQ(seen, kExact);
}

TEST(LanguagesGolden, WhatIsIndexedIsWhatIsAnalyzed) {
  RELUCENT_NEEDS(golden_path("languages"));
  for (const std::filesystem::path& file : golden_listing("languages")) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".tokens.jsonl.gz")) continue;
    SCOPED_TRACE(name);
    const AnalyzerKind language = analyzer_from(name.substr(0, name.find('.'))).value();
    analysis::LanguageTerms source(analysis::make_chain(language));
    std::size_t texts = 0;
    for_each_line(file, [&](const std::string& line) {
      if (++texts > 200) return;
      const std::string text = json::parse(line).at("text").get<std::string>();
      const auto terms = source.terms_of(text);
      const auto tokens = analyze(language, text);
      ASSERT_EQ(terms.size(), tokens.size()) << text;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        EXPECT_EQ(terms[i].text, tokens[i].term);
        EXPECT_EQ(terms[i].hash, analysis::hash_of(tokens[i].term));
        EXPECT_EQ(terms[i].position_increment, tokens[i].position_increment);
        EXPECT_LE(tokens[i].start, tokens[i].end);
        EXPECT_LE(tokens[i].end, text.size());
      }
    });
  }
}

std::vector<std::string> terms(AnalyzerKind language, std::string_view text) {
  std::vector<std::string> found;
  for (const AnalyzedToken& token : analyze(language, text)) found.push_back(token.term);
  return found;
}

TEST(Languages, ThaiAndJapaneseAreCutByDictionaries) {
  EXPECT_EQ(terms(AnalyzerKind::thai, "การค้นหาข้อความภาษาไทย ๑๒"),
            (std::vector<std::string>{"ค้นหา", "ข้อความ", "ภาษา", "ไทย", "12"}));
  EXPECT_EQ(terms(AnalyzerKind::japanese, "東京でコンピューターとﾃﾚﾋﾞを買う。ＡＢＣ"),
            (std::vector<std::string>{"東京", "コンピュータ", "テレビ", "買う", "abc"}));
}

TEST(Languages, EveryOneTakesAnyText) {
  const std::string odd = "a\xFF\xC3 \xF0\x9F\x98\x80\xF0\x90\x90\x80 \xE2\x80\x8C\xCC\x87I\xCC\x87 ,,, '";
  for (int kind = 0; kind <= static_cast<int>(AnalyzerKind::turkish); ++kind) {
    const auto analyzer = static_cast<AnalyzerKind>(kind);
    if (!can_analyze(analyzer)) continue;
    SCOPED_TRACE(to_string(analyzer));
    EXPECT_TRUE(terms(analyzer, "").empty());
    EXPECT_FALSE(terms(analyzer, odd).empty());
    for (const std::string unit : {"\xE0\xB8\x81", "\xE3\x83\xBC", "x", "\xD9\x8A", "\xE0\xA6\xAF", "\xE4\xB8\xAD"}) {
      std::string longest;
      while (longest.size() < 60'000) longest += unit;
      EXPECT_FALSE(terms(analyzer, longest).empty());
    }
  }
  EXPECT_THROW(analyze(AnalyzerKind::whitespace, "a"), Error);
}

}  // namespace
}  // namespace relucent
