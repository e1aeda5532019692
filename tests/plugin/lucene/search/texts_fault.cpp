// Texts nobody meant to index, through the bundled model.
#include <gtest/gtest.h>

#include <cmath>

#include "relucent/text_query.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;

RescoredTopDocsPtr search(const SmallIndex& index, const Config& config, const std::string& text) {
  const auto searcher = openSearcher(index.folder(), config);
  return rescored(searcher->search(newLucene<RescoreQuery>(term_query("word"), text), 10));
}

Config with_model() {
  Config config = small_config();
  config.rescorer.device = Device::cpu();
  return config;
}

std::string long_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "bread keeps fresh in a paper bag; ";
  return text;
}

TEST(RescoringTexts, ADocumentOfTenMegabytesIsCutAndScoredLikeItsBeginning) {
  const SmallIndex index(ten_documents({long_text(10'000'000), long_text(20'000), "A bicycle."}));
  const auto answer = search(index, with_model(), "how to keep bread fresh");
  ASSERT_FALSE(answer->degraded) << answer->reason;
  EXPECT_EQ(answer->rescored, 3);
  EXPECT_EQ(answer->truncated, 2);
  EXPECT_EQ(rescored_hit(answer, 0)->logit, rescored_hit(answer, 1)->logit);
  EXPECT_EQ(rescored_hit(answer, 2)->doc, 2);
}

TEST(RescoringTexts, AQueryOfMoreThanThirtyWordPiecesIsCutAndTheAnswerReportsIt) {
  const SmallIndex index(ten_documents({"Keep bread in a paper bag.", "A bicycle."}));
  const auto answer_to = [&](int words) {
    std::string query;
    for (int i = 0; i < words; ++i) query += "bread ";
    const auto answer = search(index, with_model(), query);
    EXPECT_FALSE(answer->degraded) << answer->reason;
    return answer;
  };
  const auto whole = answer_to(30), cut = answer_to(31);
  EXPECT_FALSE(whole->query_truncated);
  EXPECT_TRUE(cut->query_truncated);
  EXPECT_EQ(rescored_hit(cut, 0)->logit, rescored_hit(whole, 0)->logit);
}

TEST(RescoringTexts, ADocumentOfTenMegabytesDoesNotOutlastTheDeadlineByMuch) {
  const SmallIndex index(ten_documents({long_text(10'000'000), long_text(10'000'000), long_text(10'000'000)}));
  Config config = with_model();
  config.rescorer.long_documents = LongDocuments::maxp;
  config.rescorer.timeout = std::chrono::milliseconds(100);
  const auto start = std::chrono::steady_clock::now();
  const auto answer = search(index, config, "how to keep bread fresh");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(answer->degraded);
  EXPECT_LT(taken.count(), 20.0);  // opening included, other processes too; all the chunks would take minutes
}

TEST(RescoringTexts, OddBytesAreReadNotFeared) {
  std::string controls = "word \x01\x02\x7f and\ttabs";
  const SmallIndex index(ten_documents({controls, "naïve 東京 😀 \xEF\xBF\xBD", "...", "[SEP] [CLS] [PAD]"}));
  const auto answer = search(index, with_model(), "what \xff\xfe is 東京\xed\xa0\x80?");
  ASSERT_FALSE(answer->degraded) << answer->reason;
  EXPECT_EQ(answer->rescored, 4);
  for (std::int32_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(*rescored_hit(answer, i)->logit));
}

TEST(RescoringTexts, AnEndlessQueryIsCut) {
  const SmallIndex index(ten_documents({"one", "two"}));
  const auto answer = search(index, with_model(), long_text(1'000'000));
  ASSERT_FALSE(answer->degraded) << answer->reason;
  EXPECT_EQ(answer->rescored, 2);
  EXPECT_LT(rescored_hit(answer, 0)->tokens, 64);
}

}  // namespace
}  // namespace relucent
