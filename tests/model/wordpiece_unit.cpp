// WordPiece on a vocabulary small enough to see the answer.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "model/tokenizer/wordpiece.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"

namespace relucent::testing {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max() / 2;

class WordPiece : public ::testing::Test {
 protected:
  static WordPieceVocabulary vocabulary() {
    return {{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "un",  "##aff", "##able", "##a", "a", "ab",       "abc",        "##c",
             "##d",   "!",     "[",     "]",     "sep", "北",    "e",      "##e", "#", "\xCF\x83", "##\xCF\x83", "i"},
            2,
            3,
            1,
            "test"};
  }
  const WordPieceTokenizer tokenizer{vocabulary()};

  std::vector<std::string> pieces(std::string_view text) const {
    std::vector<std::int32_t> ids;
    EXPECT_FALSE(tokenizer.encode(text, kNoLimit, ids));
    std::vector<std::string> result;
    for (const std::int32_t id : ids) result.push_back(vocabulary().entries[static_cast<std::size_t>(id)]);
    return result;
  }
  using Pieces = std::vector<std::string>;
};

// Each text is too long to be done within a millisecond: of short words, of one word, of white space, of characters
// that are read one by one.
TEST_F(WordPiece, ADeadlineIsSeenInsideALongText) {
  for (const std::string piece : {"ab abc un!", "unaffable", " \t", "北 ", "é"}) {
    std::string text;
    while (text.size() < std::size_t{32} << 20) text += piece;
    StopSignal stop;
    stop.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    std::vector<std::int32_t> ids;
    expect_error(ErrorKind::deadline, [&] { tokenizer.encode(text, kNoLimit, ids, stop); });
  }
}

TEST_F(WordPiece, IdsAreAppendedWithoutLimit) {
  std::vector<std::int32_t> ids = {7, 8, 9};
  EXPECT_FALSE(tokenizer.encode("ab abc", std::numeric_limits<std::size_t>::max(), ids));
  EXPECT_EQ(ids, (std::vector<std::int32_t>{7, 8, 9, 9, 10}));
}

// Where the clock is looked at, words are neither cut nor joined.
TEST_F(WordPiece, LooksAtTheClockDoNotChangeTheIds) {
  for (std::size_t before = (64 << 10) - 40; before <= (64 << 10) + 40; ++before) {
    const std::string text = std::string(before, '!') + "unaffable ab abc unaffable! ab unaffable abc ab";
    std::vector<std::int32_t> ids;
    tokenizer.encode(text, kNoLimit, ids);
    const std::vector<std::int32_t> end(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
    EXPECT_EQ(end, (std::vector<std::int32_t>{4, 5, 6, 9, 10, 4, 5, 6, 13, 9, 4, 5, 6, 10, 9})) << before;
  }
}

TEST_F(WordPiece, GreedyLongestMatch) {
  EXPECT_EQ(pieces("unaffable"), (Pieces{"un", "##aff", "##able"}));
  EXPECT_EQ(pieces("abcd abd"), (Pieces{"abc", "##d", "ab", "##d"}));
}

TEST_F(WordPiece, AWordThatDoesNotEndInPiecesIsUnknownAsAWhole) {
  EXPECT_EQ(pieces("abcx a"), (Pieces{"[UNK]", "a"}));
  EXPECT_EQ(pieces("d"), (Pieces{"[UNK]"})) << "a continuation does not begin a word";
}

TEST_F(WordPiece, PunctuationAndCjkAreWordsOfTheirOwn) {
  EXPECT_EQ(pieces("a!!ab"), (Pieces{"a", "!", "!", "ab"}));
  EXPECT_EQ(pieces("a北ab"), (Pieces{"a", "北", "ab"}));
  EXPECT_EQ(pieces("##a"), (Pieces{"#", "#", "a"})) << "the prefix in a text is text";
}

TEST_F(WordPiece, SpecialTokensInATextAreText) { EXPECT_EQ(pieces("[SEP]"), (Pieces{"[", "sep", "]"})); }

TEST_F(WordPiece, CaseAccentsAndFinalSigma) {
  EXPECT_EQ(pieces("ÀB É İ"), (Pieces{"ab", "e", "i"}));
  EXPECT_EQ(pieces("ΣΣ"), (Pieces{"\xCF\x83", "##\xCF\x83"}));
}

TEST_F(WordPiece, DroppedCharactersJoinTheirNeighbours) {
  EXPECT_EQ(pieces(std::string_view("a\0b\x0B\xC2\x85\xC2\xAD"
                                    "c",
                                    9)),
            (Pieces{"abc"}));
  EXPECT_EQ(pieces("a\tab\nabc\r!"), (Pieces{"a", "ab", "abc", "!"}));
}

TEST_F(WordPiece, InvalidBytesCountAsReplacementCharacters) {
  EXPECT_EQ(pieces("a\xFF\xC3(\xE4\xBA"), pieces("a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD"));
  EXPECT_EQ(pieces("a\xED\xA0\x80"
                   "b"),
            (Pieces{"ab"}))
      << "a surrogate in UTF-8 is dropped";
}

TEST_F(WordPiece, WordsOfOverAHundredCharactersAreUnknown) {
  EXPECT_EQ(pieces("a" + std::string(99, 'a')).size(), 100U);
  EXPECT_EQ(pieces("a" + std::string(100, 'a')), (Pieces{"[UNK]"}));
  // NOLINTNEXTLINE(bugprone-string-constructor): such a word can occur
  EXPECT_EQ(pieces(std::string(10'000'000, 'a') + " ab"), (Pieces{"[UNK]", "ab"}));
}

TEST_F(WordPiece, TheLimitCutsAndReportsIt) {
  const std::string text = "a ab! unaffable";
  std::vector<std::int32_t> all;
  ASSERT_FALSE(tokenizer.encode(text, kNoLimit, all));
  ASSERT_EQ(all.size(), 6U);
  for (std::size_t limit = 0; limit <= 8; ++limit) {
    std::vector<std::int32_t> ids{99};
    EXPECT_EQ(tokenizer.encode(text, limit, ids), limit < all.size());
    std::vector<std::int32_t> expected{99};
    expected.insert(expected.end(), all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size())));
    EXPECT_EQ(ids, expected) << limit;
  }
}

TEST_F(WordPiece, NothingGivesNothing) {
  EXPECT_TRUE(pieces("").empty());
  EXPECT_TRUE(pieces(" \t\n\x01").empty());
}

TEST_F(WordPiece, AVocabularyWithoutContinuations) {
  const WordPieceTokenizer bare({{"[UNK]", "[CLS]", "[SEP]", "a"}, 1, 2, 0, "test"});
  std::vector<std::int32_t> ids;
  bare.encode("a aa", kNoLimit, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 0}));
}

}  // namespace
}  // namespace relucent::testing
