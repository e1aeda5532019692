// The texts that costs are measured on: their numbers of tokens and sentences.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/benchmarks/generated_texts.h"
#include "model/tokenizer/sentences.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::benchmarks {
namespace {

constexpr const char* kModel = "model/relucent-minilm-l6-w4";

TEST(GeneratedTexts, SentencesHaveTheTokensAskedForWithTheOneBeforeThem) {
  if (!std::filesystem::exists(kModel)) GTEST_SKIP() << "needs " << kModel;
  const auto tokenizer = load_checkpoint_tokenizer(kModel).tokenizer;
  for (int tokens = 16; tokens < 110; ++tokens) {
    const GeneratedTexts texts = generate_texts(kModel, 2, tokens, 10, 30);
    for (const std::string& document : texts.documents) {
      std::vector<std::int32_t> ids;
      const std::vector<std::size_t> ends = encode_sentences(*tokenizer, document, 100000, 102, ids, {});
      ASSERT_EQ(ids.size(), static_cast<std::size_t>(tokens - 13)) << document;
      for (std::size_t i = 0; i + 1 < ends.size(); ++i) ASSERT_EQ(ends[i], 30 * (i + 1)) << document;
      const std::size_t last = ids.size() - (ends.size() > 1 ? ends[ends.size() - 2] : 0);
      ASSERT_LT(last, 33U) << document;
    }
  }
}

TEST(GeneratedTexts, AnInputOfSentencesFillsTheLength) {
  if (!std::filesystem::exists(kModel)) GTEST_SKIP() << "needs " << kModel;
  CrossEncoderOptions options;
  options.backend.device = Device::cpu();
  options.pattern = PatternChoice::qds;
  options.attention_window = 64;
  options.max_length = 174;
  const GeneratedTexts texts = generate_texts(kModel, 1, 174, 10, kSentenceTokens);
  const std::string_view document = texts.documents.front();
  const PairScores scores = CrossEncoder::load(kModel, options)->score(texts.query, {&document, 1});
  EXPECT_EQ(scores.documents.front().tokens, 174);
  EXPECT_FALSE(scores.documents.front().truncated);
}

}  // namespace
}  // namespace relucent::benchmarks
