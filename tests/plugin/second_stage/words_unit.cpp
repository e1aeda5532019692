#include <gtest/gtest.h>

#include "plugin/second_stage/restore_words.h"
#include "relucent/error.h"

namespace relucent {
namespace {

using Texts = std::vector<std::string_view>;

std::string words(const std::vector<std::string>& stems, const Texts& texts) { return restore_words(stems, texts, {}); }

TEST(RescoringWords, AStemBecomesItsMostFrequentWord) {
  EXPECT_EQ(words({"caus"}, {"Causes and causes", "the cause", "CAUSED"}), "causes");
}

TEST(RescoringWords, OfEquallyFrequentWordsTheFirstInByteOrder) {
  EXPECT_EQ(words({"caus"}, {"causes cause caused"}), "cause");
  EXPECT_EQ(words({"caus"}, {"caused", "causes"}), "caused");
}

TEST(RescoringWords, AStemThatIsAWordStays) { EXPECT_EQ(words({"run"}, {"running running running", "a run"}), "run"); }

TEST(RescoringWords, AStemThatNoTextHasStays) {
  EXPECT_EQ(words({"brd", "caus"}, {"causes", ""}), "brd causes");
  EXPECT_EQ(words({"caus"}, {}), "caus");
  EXPECT_EQ(words({}, {"causes"}), "");
}

TEST(RescoringWords, OrderAndRepetitionAreTheStems) {
  EXPECT_EQ(words({"revolut", "caus", "revolut"}, {"the causes of a revolution"}), "revolution causes revolution");
}

TEST(RescoringWords, DoNotDependOnTheOrderOfTheTexts) {
  EXPECT_EQ(words({"caus"}, {"causes", "cause cause", "causes"}), words({"caus"}, {"cause cause", "causes", "causes"}));
}

TEST(RescoringWords, OnlyTheBeginningOfALongTextIsRead) {
  const std::string late = std::string(19'994, ' ') + "causes";
  EXPECT_EQ(words({"caus"}, {late}), "causes");
  const std::string later = std::string(7, ' ') + late;
  EXPECT_EQ(words({"caus"}, {later}), "caus");
}

TEST(RescoringWords, StopAtTheDeadline) {
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now() - std::chrono::milliseconds(1);
  EXPECT_THROW(restore_words({"caus"}, Texts{"causes"}, stop), Error);
}

}  // namespace
}  // namespace relucent
