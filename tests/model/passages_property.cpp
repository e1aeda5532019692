// Long documents through the cross-encoder: the passages' scores are those of the passages alone, on every instruction
// set and with token ids made beforehand, and the best passage's place in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "base/utf8.h"
#include "model/input/document_chunks.h"
#include "model/tokenizer/sentences.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/instruction_sets.h"
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
  for (const std::string& level : kInstructionSets) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int16, Precision::int8}) {
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

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  const StopSignal never;
  SentenceReader reader(text, never);
  for (TextRange one = reader.next(); one.begin < one.end; one = reader.next()) {
    sentences.emplace_back(text.substr(one.begin, one.end - one.begin));
  }
  return sentences;
}

TEST(Sentences, EndWhereUnicodesRulesSay) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(sentences_of(""), Texts());
  EXPECT_EQ(sentences_of("  "), Texts{"  "});
  EXPECT_EQ(sentences_of("One two"), Texts{"One two"});
  EXPECT_EQ(sentences_of("One. Two? \"Three!\" Four"), (Texts{"One.", " Two?", " \"Three!\"", " Four"}));
  EXPECT_EQ(sentences_of("It costs 3.5 e.g. here. Next\nline "),
            (Texts{"It costs 3.5 e.g. here.", " Next", "\nline "}));
  EXPECT_EQ(sentences_of("東京。京都！"), (Texts{"東京。", "京都！"}));
  EXPECT_EQ(sentences_of("\xFF. A\x80\x80. B"), (Texts{"\xFF.", " A\x80\x80.", " B"}));
}

TEST(Sentences, OfALongTextAreItsParts) {
  std::string text;
  std::size_t count = 0;
  std::mt19937 random(1);
  while (text.size() < 300'000) {
    text += "The ";
    for (std::size_t words = 1 + random() % 30; words > 0; --words) text += "é word ";
    text += "End. ";
    ++count;
  }
  const auto sentences = sentences_of(text);
  EXPECT_EQ(sentences.size(), count);
  EXPECT_EQ(std::accumulate(sentences.begin(), sentences.end(), std::string()), text);
  for (std::size_t i = 0; i + 1 < sentences.size(); ++i) ASSERT_TRUE(sentences[i].ends_with("End.")) << i;
  // Without an end they are cut, on whole characters.
  std::string endless;
  while (endless.size() < 100'000) endless += "é";
  const auto parts = sentences_of(endless);
  EXPECT_EQ(parts.size(), 4U);
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::string()), endless);
  for (const std::string& part : parts) EXPECT_TRUE(is_well_formed_utf8(part));
  StopSignal due;
  due.deadline = std::chrono::steady_clock::now();
  SentenceReader late(endless, due);
  EXPECT_THROW(late.next(), Error);
}

TEST(Sentences, FillChunks) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<std::size_t> ends;
    for (std::size_t at = 0; ends.size() < 1 + random() % 20;) ends.push_back(at += random() % 12);
    if (ends.back() == 0) continue;
    CrossEncoderOptions options;
    options.long_documents = LongDocuments::maxp;
    options.chunk = static_cast<std::int32_t>(1 + random() % 20);
    const std::size_t room = 1 + random() % 20, size = std::min(room, static_cast<std::size_t>(options.chunk));
    const auto chunks = sentence_chunks(ends, room, options);
    const auto is_end = [&](std::size_t at) { return std::find(ends.begin(), ends.end(), at) != ends.end(); };
    std::size_t at = 0;
    for (const Chunk& chunk : chunks) {
      ASSERT_EQ(chunk.begin, at);
      ASSERT_TRUE(chunk.size > 0 && chunk.size <= size);
      at += chunk.size;
      if (!is_end(at)) {
        ASSERT_EQ(chunk.size, size) << "cut inside a sentence only where it is full";
      }
      // The next sentence would not have fit, and a sentence is cut only if it is too long.
      const auto next = std::upper_bound(ends.begin(), ends.end(), at);
      if (next == ends.end()) continue;
      ASSERT_GT(*next - chunk.begin, size);
      if (!is_end(at)) {
        const std::size_t begin = next == ends.begin() ? 0 : *(next - 1);
        ASSERT_GT(*next - std::min(begin, chunk.begin), size);
      }
    }
    ASSERT_EQ(at, ends.back());
    options.long_documents = LongDocuments::firstp;
    const auto first = sentence_chunks(ends, room, options);
    ASSERT_EQ(first.size(), 1U);
    ASSERT_EQ(first[0].size, chunks[0].size);
  }
}

TEST_F(Passages, BySentencesScoreAsTheirOwnTexts) {
  CrossEncoderOptions chosen = options(LongDocuments::maxp, {.device = Device::ref(), .instruction_set = {}});
  chosen.chunk_by = ChunkBy::sentences;
  const auto whole = load(options(LongDocuments::truncate, chosen.backend));
  // Sentences of 8, 9, 10 and so on words of one piece; the full stop is [UNK], another piece.
  std::vector<std::string> sentences;
  for (std::size_t words = 8; words < 15; ++words) {
    std::string sentence;
    for (std::size_t i = 0; i < words; ++i)
      sentence += i == 0 ? "É" : " " + std::string(1, static_cast<char>('a' + (7 * i + words) % 26));
    sentences.push_back(sentence + ".");
  }
  // Chunks of 25 pieces: 9 + 10, 11 + 12, 13, 14, 15.
  const std::vector<std::pair<std::size_t, std::size_t>> groups = {{0, 1}, {2, 3}, {4, 4}, {5, 5}, {6, 6}};
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "  ") + sentence;
  std::vector<float> logits;
  std::vector<std::string> parts;
  for (const auto& [first, last] : groups) {
    std::string part;
    for (std::size_t i = first; i <= last; ++i) part += (part.empty() ? "" : "  ") + sentences[i];
    parts.push_back(part);
    logits.push_back(score(*whole, part).logit);
  }
  const auto model = load(chosen);
  std::vector<std::int32_t> ids;
  whole->tokenizer().encode(text, 1000, ids);
  const PairDocument with_ids{text, ids, PairDocument::Ids::all};
  for (const PairScore& got : {score(*model, text), model->score_documents(kQuery, {&with_ids, 1}).documents[0]}) {
    const auto best = std::max_element(logits.begin(), logits.end());
    EXPECT_EQ(got.logit, *best);
    EXPECT_FALSE(got.truncated);
    const TextRange place = model->place_of(text, got.best);
    EXPECT_EQ(text.substr(place.begin, place.end - place.begin),
              parts[static_cast<std::size_t>(best - logits.begin())]);
  }
  chosen.long_documents = LongDocuments::sump;
  EXPECT_EQ(score(*load(chosen), text).logit, static_cast<float>(std::accumulate(logits.begin(), logits.end(), 0.0)));
  chosen.long_documents = LongDocuments::firstp;
  const PairScore first = score(*load(chosen), text);
  EXPECT_EQ(first.logit, logits[0]);
  EXPECT_TRUE(first.truncated);
  // A sentence that is too long is cut; a document that fits and truncate do not look at sentences.
  chosen.long_documents = LongDocuments::maxp;
  const Words endless(90);
  const PairScore cut = score(*load(chosen), endless.text);
  EXPECT_EQ(cut.best.end - cut.best.begin <= 25, true);
  EXPECT_EQ(score(*model, "a. b. c").logit, score(*whole, "a. b. c").logit);
  chosen.long_documents = LongDocuments::truncate;
  EXPECT_EQ(score(*load(chosen), text).logit, score(*whole, text).logit);
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
