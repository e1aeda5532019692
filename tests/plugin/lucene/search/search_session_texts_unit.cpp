// The stored fields that a session returns: ids, texts, their beginnings, and the passages within them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/session_support.h"

namespace relucent::testing {
namespace {

using Texts = HitTexts;

/// The passage is what stands between brackets.
class BracketScorer : public NumberScorer {
 public:
  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore&,
                                   const StopSignal&) const override {
    const std::size_t begin = candidate.text.find('['), end = candidate.text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    return TextRange{begin + 1, end};
  }
};

class SearchSessionTexts : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::shared_ptr<BracketScorer> scorer = std::make_shared<BracketScorer>();
  Config config = small_config();

  std::unique_ptr<SearchSession> session(const std::vector<TextDocument>& documents) {
    write_words(folder / "index", documents);
    return session_with(folder / "index", config, {scorer});
  }
};

TEST_F(SearchSessionTexts, AreThoseStoredOnlyIfAskedFor) {
  const std::vector<TextDocument> documents = {{"d0", "1 word  \t of\n\nwhite space "},
                                               {"d1", "2 word \xC3\xA9\xE6\x9D\xB1\xF0\x9F\x98\x80"},
                                               {"d2", "3 word \xFF!"}};
  const auto open = session(documents);
  for (const Texts texts : {Texts::whole, Texts::beginnings}) {
    const SearchResult result = open->search("word", 10, texts);
    ASSERT_EQ(ids_of(result), ids_of(std::vector<std::size_t>{2, 1, 0}));
    EXPECT_EQ(result.hits[2].text, documents[0].text);
    EXPECT_EQ(result.hits[1].text, documents[1].text);
    EXPECT_EQ(result.hits[0].text, "3 word \xEF\xBF\xBD!") << "invalid UTF-8 was stored as U+FFFD";
  }
  for (const SearchHit& hit : open->search("word", 10, Texts::none).hits) EXPECT_EQ(hit.text, "");
}

TEST_F(SearchSessionTexts, OfLongDocumentsBeginWithEnoughForASnippet) {
  std::string text = "1 word";
  while (text.size() < 5 * kTextBeginning) text += " \xC3\xA9" + std::to_string(text.size());
  const auto open = session({{"d0", text}});
  EXPECT_EQ(open->search("word", 1, Texts::whole).hits.at(0).text, text);
  const std::string beginning = open->search("word", 1, Texts::beginnings).hits.at(0).text;
  EXPECT_GE(beginning.size(), kTextBeginning);
  EXPECT_LT(beginning.size(), kTextBeginning + 1024);
  EXPECT_EQ(beginning, text.substr(0, beginning.size()));
}

TEST_F(SearchSessionTexts, PassagesAreThePlacesThatTheScorerNames) {
  std::string far = "7 word ";
  while (far.size() < 3 * kTextBeginning) far += "filler ";
  const std::size_t place = far.size() + 1;
  far += "[the far end] \n";
  const auto open =
      session({{"d0", "9 word [caf\xC3\xA9 closes]"}, {"d1", "8 [ bread  ] word"}, {"d2", far}, {"d3", "6 word"}});
  for (const Texts texts : {Texts::whole, Texts::beginnings}) {
    const auto hits = open->search("word", 10, texts).hits;
    ASSERT_EQ(hits.size(), 4U);
    ASSERT_TRUE(hits[0].passage && hits[1].passage && hits[2].passage);
    EXPECT_EQ(hits[0].passage->field, "text");
    EXPECT_EQ(hits[0].passage->text, "caf\xC3\xA9 closes");
    EXPECT_EQ(hits[0].passage->begin, 8U);
    EXPECT_EQ(hits[0].passage->end, 20U);
    EXPECT_FALSE(hits[0].passage->ends_field) << "the bracket follows";
    EXPECT_EQ(hits[1].passage->text, "bread") << "without white space at both ends";
    EXPECT_EQ(hits[1].passage->begin, 4U);
    EXPECT_EQ(hits[2].passage->begin, place);
    EXPECT_EQ(hits[2].passage->text, "the far end") << "the beginning reaches to the passage's end";
    EXPECT_EQ(hits[2].text.substr(place, 11), "the far end");
    EXPECT_FALSE(hits[3].passage);
  }
  const auto without_texts = open->search("word", 10, Texts::none).hits;
  ASSERT_TRUE(without_texts.at(0).passage);
  EXPECT_EQ(without_texts[0].passage->begin, 8U);
  EXPECT_EQ(without_texts[0].passage->text, "");
  config.rescorer.find_passages = false;
  EXPECT_FALSE(session_with(folder / "index", config, {scorer})->search("word", 1, Texts::whole).hits.at(0).passage);
}

/// The whole text behind its number.
class WholeScorer : public NumberScorer {
 public:
  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore&,
                                   const StopSignal&) const override {
    return TextRange{2, candidate.text.size()};
  }
};

TEST_F(SearchSessionTexts, APassageEndsItsFieldIfOnlyWhiteSpaceFollows) {
  write_words(folder / "index", {{"d0", "1 word and more \n"}});
  const auto hit = session_with(folder / "index", config, {std::make_shared<WholeScorer>()})
                       ->search("word", 1, Texts::whole)
                       .hits.at(0);
  ASSERT_TRUE(hit.passage);
  EXPECT_EQ(hit.passage->text, "word and more");
  EXPECT_TRUE(hit.passage->ends_field);
}

TEST_F(SearchSessionTexts, SeveralFieldsAreJoinedInTheirOrder) {
  write_words(folder / "index", {{"8", "9 [far] word"}, {"7", "1 word"}});
  config.index.text_fields = {"id", "text"};
  const auto hits = session_with(folder / "index", config, {scorer})->search("word", 10, Texts::whole).hits;
  ASSERT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits[0].text, "8 9 [far] word");
  EXPECT_EQ(hits[0].logit, 8.F) << "the model reads the id first";
  ASSERT_TRUE(hits[0].passage);
  EXPECT_EQ(hits[0].passage->field, "text");
  EXPECT_EQ(hits[0].passage->begin, 3U) << "a place in that field";
  EXPECT_EQ(hits[0].passage->text, "far");
}

TEST_F(SearchSessionTexts, OfIdsAreFoundWithoutASearch) {
  const auto open = session({{"a", "1 one"}, {"b", "2 two"}, {"a", "3 three"}, {"c", "4 four"}});
  const auto texts = open->texts_of({"a", "c", "absent"});
  EXPECT_EQ(texts, (std::unordered_map<std::string, std::string>{{"a", "1 one"}, {"c", "4 four"}}));
  EXPECT_TRUE(open->texts_of({}).empty());
  EXPECT_EQ(open->search("three", 10, Texts::none).hits.at(0).id, "a") << "both documents are found";
}

TEST_F(SearchSessionTexts, OtherFieldsMayHoldThemAndTheirAbsenceIsAnError) {
  config.index.id_field = "text";
  const auto swapped = session({{"7 seven", "3 word"}});
  const SearchHit hit = swapped->search("word", 1, Texts::whole).hits.at(0);
  EXPECT_EQ(hit.id, "3 word");
  EXPECT_EQ(hit.text, "3 word");
  config.index.id_field = "number";
  const auto without = session_with(folder / "index", config, {scorer});
  const Error error = expect_error(ErrorKind::usage, "\"number\"", [&] { without->search("word", 1, Texts::none); });
  EXPECT_NE(error.remedy().find("id_field"), std::string::npos) << error.remedy();
  EXPECT_EQ(error.place(), (folder / "index").string());
}

}  // namespace
}  // namespace relucent::testing
