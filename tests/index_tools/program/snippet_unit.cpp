// Pieces of text for people: where they are cut, what is marked, what a document may do to a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <string>
#include <vector>

#include "index_tools/program/snippet.h"
#include "index_tools/program/terminal.h"

namespace relucent::program {
namespace {

class Snippets : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }

  static std::vector<std::string> marked(const Snippet& snippet) {
    std::vector<std::string> words;
    for (const auto& [begin, end] : snippet.marks) words.push_back(snippet.text.substr(begin, end - begin));
    return words;
  }
};

TEST_F(Snippets, AShortTextIsWholeWithStemsMarked) {
  const Snippet snippet = make_snippet("Running dogs\n ran; the runner's dog runs.", query_stems("run the DOG"), 80);
  EXPECT_EQ(snippet.text, "Running dogs ran; the runner's dog runs.");
  EXPECT_EQ(marked(snippet), (std::vector<std::string>{"Running", "dogs", "dog", "runs"}));
}

TEST_F(Snippets, ALongTextIsCutWhereMostOfTheWordsAre) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "nothing of interest stands here and dogs and cats do not. ";
  text += "At last the cat met a dog and a bird in the garden. ";
  for (int i = 0; i < 50; ++i) text += "More words follow. ";
  const Snippet snippet = make_snippet(text, query_stems("cat dog bird"), 60);
  const auto words = marked(snippet);
  EXPECT_TRUE(words.size() >= 3 &&
              std::equal(words.end() - 3, words.end(), std::vector<std::string>{"cat", "dog", "bird"}.begin()))
      << snippet.text;
  EXPECT_LE(display_columns(snippet.text), 60U);
  EXPECT_TRUE(snippet.text.starts_with("… ") && snippet.text.ends_with("…")) << snippet.text;
}

TEST_F(Snippets, NeverExceedsItsWidthWhateverTheText) {
  const std::string text =
      "寿司 is 日本 food, naïve café 😀😀 and e\xCC\x81 with 中文字 many wide 漢字 signs in a row 漢字漢字漢字漢字 end";
  for (std::size_t columns = 5; columns < 120; ++columns) {
    const Snippet snippet = make_snippet(text, query_stems("wide café"), columns);
    EXPECT_LE(display_columns(snippet.text), columns) << snippet.text;
  }
}

TEST_F(Snippets, AMatchNearTheEndIsShownWithWhatStandsBefore) {
  const Snippet snippet = make_snippet("one two three four five six seven eight nine ten", query_stems("ten"), 24);
  EXPECT_EQ(snippet.text, "… seven eight nine ten");
  EXPECT_EQ(marked(snippet), (std::vector<std::string>{"ten"}));
}

TEST_F(Snippets, WithoutAMatchTheBeginningIsShown) {
  const Snippet snippet = make_snippet("one two three four five six seven", query_stems("absent"), 14);
  EXPECT_EQ(snippet.text, "one two three…");
  EXPECT_TRUE(snippet.marks.empty());
  EXPECT_EQ(make_snippet("", query_stems("a"), 10).text, "");
}

TEST_F(Snippets, APartOfATextStatesOnWhichSidesItContinues) {
  const auto shown = [](Surroundings surroundings, std::size_t columns = 20) {
    return make_snippet("one two three", query_stems("two"), columns, surroundings).text;
  };
  EXPECT_EQ(shown({}), "one two three");
  EXPECT_EQ(shown({.before = true, .after = false}), "… one two three");
  EXPECT_EQ(shown({.before = false, .after = true}), "one two three…");
  EXPECT_EQ(shown({.before = true, .after = true}), "… one two three…");
  EXPECT_LE(display_columns(shown({.before = true, .after = true}, 12)), 12U);
  EXPECT_EQ(make_snippet("", {}, 20, {.before = true, .after = true}).text, "…");
}

TEST_F(Snippets, ADocumentCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\033[31mred\r\nb\t\tc\x07\xC2\x9B"
                      "d\xE2\x80\xAE"
                      "e"),
            "a [31mred b c d e");
  EXPECT_EQ(printable("\xFFx"), "\xEF\xBF\xBDx");
}

TEST_F(Snippets, ShorteningCountsColumns) {
  EXPECT_EQ(shortened("hello", 5), "hello");
  EXPECT_EQ(shortened("hello!", 5), "hell…");
  EXPECT_EQ(shortened("漢字漢字", 5), "漢字…");
}

}  // namespace
}  // namespace relucent::program
