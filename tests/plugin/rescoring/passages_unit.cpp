// The best passage of a hit: its place in the stored text, and what happens where there is none.
#include <gtest/gtest.h>

#include <stdexcept>

#include "relucent/index_builder.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/text_query.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent {
namespace {

using namespace testing;

/// The passage is a candidate's last character.
class LastCharacter : public NumberScorer {
 public:
  std::optional<TextRange> passage(const Candidate& candidate, const CandidateScore& score,
                                   const StopSignal&) const override {
    ++asked;
    if (trouble) trouble();
    if (score.score < 2) return std::nullopt;
    return TextRange{candidate.text.size() - 1, candidate.text.size() + (score.score > 8 ? 1 : 0)};
  }
  std::function<void()> trouble;
  mutable std::atomic<int> asked = 0;
};

TEST(RescoringPassages, AreThoseOfTheScorerForTheHitsReturned) {
  const SmallIndex index(ten_documents({"1", "3", "9", std::nullopt, "5 long", "4"}));
  const auto scorer = std::make_shared<LastCharacter>();
  Config config = small_config();
  config.rescorer.window = 5;
  const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 6));
  ASSERT_EQ(answer->scoreDocs.size(), 6);
  std::vector<std::string> places;
  for (std::int32_t i = 0; i < 6; ++i) {
    const auto hit = rescored_hit(answer, i);
    places.push_back(std::to_string(hit->doc) + ":");
    if (!hit->passage) continue;
    EXPECT_EQ(hit->passage->field, "text");
    places.back() += std::to_string(hit->passage->bytes.begin) + "-" + std::to_string(hit->passage->bytes.end);
  }
  EXPECT_EQ(places, (std::vector<std::string>{"2:", "4:5-6", "1:0-1", "0:", "3:", "5:"}))
      << "2: not a range of the text; 0: the scorer has none; 3: no text; 5: beyond the window";
  EXPECT_EQ(scorer->asked, 4);
  EXPECT_FALSE(answer->degraded);

  rescoring_searcher(index, config, scorer)->search(term_query("word"), 2);
  EXPECT_EQ(scorer->asked, 6) << "only for the hits returned";
  config.rescorer.find_passages = false;
  const auto without = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
  EXPECT_EQ(scorer->asked, 6);
  EXPECT_FALSE(rescored_hit(without, 1)->passage);
}

TEST(RescoringPassages, AreLeftOutWhereFindingThemFails) {
  const SmallIndex index(ten_documents({"3", "4"}));
  for (const OnError on_error : {OnError::first_stage, OnError::fail}) {
    for (const int kind : {0, 1, 2}) {
      const auto scorer = std::make_shared<LastCharacter>();
      scorer->trouble = [kind] {
        if (kind == 0) throw Error(ErrorKind::deadline, "finding", "too late");
        if (kind == 1) throw std::runtime_error("no");
        throw 7;
      };
      Config config = small_config();
      config.rescorer.on_error = on_error;
      const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
      EXPECT_FALSE(answer->degraded);
      EXPECT_EQ(answer->rescored, 2);
      EXPECT_EQ(rescored_hit(answer, 0)->doc, 1);
      EXPECT_FALSE(rescored_hit(answer, 0)->passage);
      EXPECT_EQ(scorer->asked, 2);
    }
  }
}

TEST(RescoringPassages, AreNotLookedForAfterTheDeadline) {
  const SmallIndex index(ten_documents({"3", "4", "5"}));
  const auto scorer = std::make_shared<LastCharacter>();
  scorer->trouble = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); };
  Config config = small_config();
  config.rescorer.timeout = std::chrono::milliseconds(1000);
  const auto answer = rescored(rescoring_searcher(index, config, scorer)->search(term_query("word"), 7));
  EXPECT_FALSE(answer->degraded) << "the scores were there in time";
  EXPECT_EQ(scorer->asked, 1);
  EXPECT_TRUE(rescored_hit(answer, 0)->passage);
  EXPECT_FALSE(rescored_hit(answer, 1)->passage);
}

/// A word for each letter of a chunk, so that chunks differ; 60 and more do not fit into the tiny model.
std::string letters(std::size_t count, unsigned seed) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += i % 3 == 0 ? "  " : " ";
    text += i % 7 == seed ? "É" : std::string(1, static_cast<char>('a' + (i * 7 + i / 26 + seed) % 26));
  }
  return text;
}

// Through the engine's own search, from texts and from stored token ids: a hit's passage, scored alone, has the hit's
// score under maxp.
TEST(RescoringPassages, OfTheCrossEncoderScoreAsTheHitWithAndWithoutStoredTokenIds) {
  const TemporaryFolder folder;
  TinyCheckpoint().write(folder / "model");
  const std::vector<std::string> texts = {letters(300, 1), letters(30, 2), letters(77, 3), letters(120, 4)};
  for (const bool stored : {false, true}) {
    SCOPED_TRACE(stored);
    IndexBuilder::Options options;
    if (stored) options.token_ids_of = folder / "model";
    const auto index = folder / (stored ? "stored" : "plain");
    const auto builder = IndexBuilder::open(index, IndexBuilder::Mode::create, options);
    for (std::size_t i = 0; i < texts.size(); ++i) builder->add(std::to_string(i), texts[i]);
    builder->commit({});
    builder->close();

    Config config;
    config.log.level = LogLevel::off;
    config.rescorer.device = Device::cpu();
    config.rescorer.model = (folder / "model").string();
    config.rescorer.long_documents = LongDocumentMode::maxp;
    config.rescorer.chunk = 25;
    config.rescorer.stride = 20;
    const auto answer = rescored(openSearcher(index, config)->search(makeTextQuery("b c d e f g h", config), 10));
    ASSERT_FALSE(answer->degraded) << answer->reason;
    ASSERT_EQ(answer->rescored, 4);
    CrossEncoderOptions plain;
    plain.backend.device = Device::cpu();
    const auto model = CrossEncoder::load(folder / "model", plain);
    std::size_t parts = 0;
    for (std::int32_t i = 0; i < 4; ++i) {
      const auto hit = rescored_hit(answer, i);
      const std::string& text = texts[static_cast<std::size_t>(hit->doc)];
      ASSERT_TRUE(hit->passage);
      const TextRange place = hit->passage->bytes;
      const std::string_view passage = std::string_view(text).substr(place.begin, place.end - place.begin);
      EXPECT_EQ(model->score("b c d e f g h", {&passage, 1}).documents[0].logit, *hit->logit) << hit->doc;
      if (hit->doc == 1) {
        EXPECT_EQ(passage, text.substr(2));
      } else {
        parts += passage.size() < text.size() / 2 ? 1 : 0;
      }
    }
    EXPECT_EQ(parts, 3U);
    EXPECT_GT(answer->times.passages.count(), 0);
  }
}

}  // namespace
}  // namespace relucent
