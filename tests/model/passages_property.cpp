// Long documents through the cross-encoder: the passages' scores are those of the passages alone, on every instruction
// set and with token ids made beforehand, and the best passage's place in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "base/utf8.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

constexpr const char* kQuery = "q x";
constexpr LongDocuments kModes[] = {LongDocuments::truncate, LongDocuments::maxp, LongDocuments::firstp,
                                    LongDocuments::sump,     LongDocuments::avgp, LongDocuments::topk};

/// A text of words of one piece each and where they stand.
struct Words {
  std::string text;
  std::vector<TextRange> places;

  explicit Words(std::size_t count, unsigned seed = 1) {
    static const std::vector<std::string> words = {"a", "B", "z", "é", "É", "!", "q", "東", "😀", "a\xFF", "e\xCC\x81"};
    static const std::vector<std::string> spaces = {" ", "  ", "\n", "\u00A0", " \u3000"};
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < count; ++i) {
      text += spaces[random() % spaces.size()];
      const std::string& word = words[random() % words.size()];
      places.push_back({text.size(), text.size() + word.size()});
      text += word;
    }
    text += " ";
  }

  TextRange range(std::size_t first, std::size_t end) const { return {places[first].begin, places[end - 1].end}; }
  std::string part(const TextRange& range) const { return text.substr(range.begin, range.end - range.begin); }
};

class Passages : public ::testing::Test {
 protected:
  TemporaryFolder folder;

  void SetUp() override { TinyCheckpoint().write(folder.path()); }

  static CrossEncoderOptions options(LongDocuments mode, const BackendOptions& backend) {
    CrossEncoderOptions options;
    options.backend = backend;
    options.long_documents = mode;
    options.chunk = 25;
    options.stride = 20;
    options.top_chunks = 2;
    return options;
  }
  std::shared_ptr<const CrossEncoder> load(const CrossEncoderOptions& options) const {
    return CrossEncoder::load(folder.path(), options);
  }
  static PairScore score(const CrossEncoder& model, std::string_view text) {
    return model.score(kQuery, {&text, 1}).documents.at(0);
  }

  /// A document's logit from those of its chunks of 25 words, one every 20, scored as documents of their own, and the
  /// first best chunk; of a document that is cut, the first 59 words.
  static std::pair<float, TextRange> expected(const CrossEncoder& whole, const Words& words, LongDocuments mode) {
    const std::size_t count = words.places.size();
    if (mode == LongDocuments::truncate) {
      const TextRange read = words.range(0, std::min<std::size_t>(count, 59));
      return {score(whole, words.part(read)).logit, read};
    }
    std::vector<TextRange> ranges;
    std::vector<float> logits;
    for (std::size_t begin = 0;; begin += 20) {
      ranges.push_back(words.range(begin, std::min(begin + 25, count)));
      logits.push_back(score(whole, words.part(ranges.back())).logit);
      if (begin + 25 >= count || mode == LongDocuments::firstp) break;
    }
    const auto best = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
    const TextRange place = ranges[best];
    if (mode == LongDocuments::sump) return {static_cast<float>(sum), place};
    if (mode == LongDocuments::avgp) return {static_cast<float>(sum / static_cast<double>(logits.size())), place};
    const float greatest = logits[best];
    if (mode != LongDocuments::topk) return {greatest, place};
    logits[best] = -1e30F;
    const float second = *std::max_element(logits.begin(), logits.end());
    return {static_cast<float>((static_cast<double>(greatest) + static_cast<double>(second)) / 2), place};
  }

  void compare(const BackendOptions& backend) const {
    const auto whole = load(options(LongDocuments::truncate, backend));
    const Words words(100), others(75, 2);
    std::vector<std::int32_t> ids;
    whole->tokenizer().encode(words.text, 1000, ids);
    ASSERT_EQ(ids.size(), words.places.size());
    for (const LongDocuments mode : kModes) {
      SCOPED_TRACE(static_cast<int>(mode));
      const auto model = load(options(mode, backend));
      const std::vector<PairDocument> documents = {
          {words.text}, {others.text}, {words.text, ids, PairDocument::Ids::all}, {"a b"}};
      const PairScores scores = model->score_documents(kQuery, documents);
      for (std::size_t i = 0; i < 3; ++i) {
        const Words& of = i == 1 ? others : words;
        const PairScore& got = scores.documents[i];
        const auto [logit, place] = expected(*whole, of, mode);
        EXPECT_EQ(std::bit_cast<std::int32_t>(got.logit), std::bit_cast<std::int32_t>(logit)) << i;
        EXPECT_FALSE(got.best.all);
        EXPECT_EQ(model->place_of(of.text, got.best), place) << i;
      }
      EXPECT_EQ(scores.documents[3].logit, score(*whole, "a b").logit);
    }
  }
};

TEST_F(Passages, ScoreAsTheirOwnTextsInEveryMode) {
  compare({.device = Device::ref(), .instruction_set = {}});
  std::size_t levels = 0;
  for (const std::string level : {"plain", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx", "amx_emulated"}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
      SCOPED_TRACE(level + " " + std::string(to_string(precision)));
      BackendOptions backend;
      backend.device = Device::cpu();
      backend.precision = precision;
      backend.instruction_set = level;
      try {
        load(options(LongDocuments::truncate, backend));
      } catch (const Error& error) {  // not on this processor, or not in this precision
        EXPECT_TRUE(error.kind() == ErrorKind::device || error.kind() == ErrorKind::unsupported ||
                    error.kind() == ErrorKind::usage)
            << error.what();
        continue;
      }
      ++levels;
      compare(backend);
    }
  }
  EXPECT_GE(levels, 2U);
}

TEST_F(Passages, ADocumentThatFitsIsItsOwnBestPassageWithoutWhiteSpace) {
  const auto model = load(options(LongDocuments::maxp, {.device = Device::ref(), .instruction_set = {}}));
  for (const std::string text : {"a b c", " \n a b\u3000c \u00A0", "", "  ", "\xFF"}) {
    const PairScore got = score(*model, text);
    EXPECT_TRUE(got.best.all);
    const TextRange place = model->place_of(text, got.best);
    const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
    EXPECT_EQ(place.begin, begin);
    EXPECT_EQ(text.substr(place.end), text == " \n a b\u3000c \u00A0" ? " \u00A0" : "");
  }
}

TEST_F(Passages, APlaceInsideAWordIsTheWholeWord) {
  const auto model = load(options(LongDocuments::maxp, {.device = Device::ref(), .instruction_set = {}}));
  const std::string text = "abc d, éfg";  // a ##b ##c d [UNK] e ##f ##g
  const auto place = [&](std::size_t begin, std::size_t end) {
    const TextRange range = model->place_of(text, {begin, end});
    return text.substr(range.begin, range.end - range.begin);
  };
  EXPECT_EQ(place(0, 1), "abc");
  EXPECT_EQ(place(1, 3), "abc");
  EXPECT_EQ(place(2, 4), "abc d");
  EXPECT_EQ(place(3, 4), "d");
  EXPECT_EQ(place(3, 5), "d,");
  EXPECT_EQ(place(4, 6), ", éfg");
  EXPECT_EQ(place(7, 8), "éfg");
  EXPECT_EQ(model->place_of(text, {3, 3}), TextRange());
}

// With max_chunks, of two chunks that are alike the first is the best.
TEST_F(Passages, TheFirstOfEqualPassagesIsTheBest) {
  CrossEncoderOptions chosen = options(LongDocuments::maxp, {.device = Device::ref(), .instruction_set = {}});
  chosen.chunk = chosen.stride = 10;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a ";
  EXPECT_EQ(score(*load(chosen), text).best, (PieceRange{0, 10}));
}

TEST_F(Passages, FindingAPlaceEndsAtTheDeadline) {
  const auto model = load(options(LongDocuments::maxp, {.device = Device::ref(), .instruction_set = {}}));
  const Words words(5000);
  StopSignal stop;
  stop.deadline = std::chrono::steady_clock::now();
  EXPECT_THROW(model->place_of(words.text, {4000, 4100}, stop), Error);
}

}  // namespace
}  // namespace relucent::testing
