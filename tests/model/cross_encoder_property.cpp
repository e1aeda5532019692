// What holds for every text: limits, chunks, and that a score depends on its own pair alone.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "model/input/chunk_choice.h"
#include "model/input/document_chunks.h"
#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

std::string words(std::size_t count, unsigned seed = 0) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += std::string(text.empty() ? "" : " ") + static_cast<char>('a' + (i * 7 + seed) % 26);
  return text;
}

class TinyCrossEncoder : public ::testing::Test {
 protected:
  TemporaryFolder folder;

  void SetUp() override { TinyCheckpoint().write(folder.path()); }

  static CrossEncoderOptions plain(LongDocuments mode = LongDocuments::truncate) {
    CrossEncoderOptions options;
    options.backend.device = Device::ref();
    options.long_documents = mode;
    return options;
  }
  std::shared_ptr<const CrossEncoder> load(const CrossEncoderOptions& options) const {
    return CrossEncoder::load(folder.path(), options);
  }
  static PairScore score(const CrossEncoder& model, std::string_view query, std::string_view document) {
    return model.score(query, {&document, 1}).documents.at(0);
  }
};

TEST_F(TinyCrossEncoder, ScoresDoNotDependOnTheThreadsThatTokenize) {
  // More than are tokenized at once; long, short and empty ones.
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 300; ++i) texts.push_back(words(i * i % 67, i));
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  for (const LongDocuments mode : {LongDocuments::truncate, LongDocuments::maxp}) {
    CrossEncoderOptions options = plain(mode);
    options.backend.device = Device::cpu();
    options.backend.threads = 1;
    const PairScores expected = load(options)->score("q x", documents);
    options.backend.threads = 3;
    const PairScores scores = load(options)->score("q x", documents);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const PairScore &got = scores.documents[i], &wanted = expected.documents[i];
      ASSERT_EQ(std::bit_cast<int>(got.logit), std::bit_cast<int>(wanted.logit)) << i;
      ASSERT_EQ(got.tokens, wanted.tokens) << i;
      ASSERT_EQ(got.truncated, wanted.truncated) << i;
    }
  }
}

TEST_F(TinyCrossEncoder, ScoresComeInTheOrderGiven) {
  const auto model = load(plain());
  const std::vector<std::string> texts{words(3), "", words(9, 4), words(40), "a a a"};
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  const PairScores scores = model->score("q x", documents);
  ASSERT_EQ(scores.documents.size(), texts.size());
  EXPECT_EQ(scores.query_tokens, 2);
  EXPECT_FALSE(scores.query_truncated);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(std::bit_cast<int>(scores.documents[i].logit), std::bit_cast<int>(score(*model, "q x", texts[i]).logit));
  }
  EXPECT_EQ(scores.documents[0].tokens, 3 + 2 + 3);
  EXPECT_EQ(scores.documents[1].tokens, 3 + 2) << "an empty document is scored as such";
  EXPECT_NE(scores.documents[0].logit, scores.documents[2].logit);
  EXPECT_TRUE(model->score("q", {}).documents.empty());
}

TEST_F(TinyCrossEncoder, AQueryIsCutOnlyWhereTheCheckpointOrTheOptionAsksForIt) {
  const std::vector<std::string_view> document{"a b"};
  struct Case {
    nlohmann::json config;
    std::int32_t option, limit, tokens;
  };
  const Case cases[] = {{{}, 0, 0, 40},
                        {{{"query_length", 12}}, 0, 12, 12},
                        {{{"query_length", nullptr}}, 0, 0, 40},
                        {{{"architectures", {"ListformerModelForSequenceClassification"}}}, 0, 30, 30},
                        {{{"query_cls_attention", false}, {"query_doc_attention", false}}, 0, 30, 30},
                        {{{"attention_window_size", 4}}, 0, 30, 30},
                        {{{"attention_window_size", 4}, {"query_length", nullptr}}, 0, 0, 40},
                        {{}, 7, 7, 7},
                        {{{"query_length", 12}}, 35, 35, 35},
                        {{{"query_length", 12}}, 1000, 1000, 40}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.config.dump() + " " + std::to_string(one.option));
    TinyCheckpoint checkpoint;
    if (!one.config.is_null()) checkpoint.config.update(one.config);
    checkpoint.write(folder.path());
    CrossEncoderOptions options = plain();
    options.max_query_length = one.option;
    const auto model = load(options);
    EXPECT_EQ(model->max_query_length(), one.limit);
    const PairScores scores = model->score(words(40), document);
    EXPECT_EQ(scores.query_tokens, one.tokens);
    EXPECT_EQ(scores.query_truncated, one.tokens < 40);
    EXPECT_EQ(scores.documents[0].query_truncated, one.tokens < 40);
    EXPECT_EQ(scores.documents[0].tokens, one.tokens + 2 + 3);
    options.max_query_length = 1000;
    const auto whole = load(options);
    const float expected = score(*whole, words(static_cast<std::size_t>(one.tokens)), "a b").logit;
    EXPECT_EQ(std::bit_cast<int>(scores.documents[0].logit), std::bit_cast<int>(expected));
    EXPECT_NE(expected, score(*whole, words(static_cast<std::size_t>(one.tokens) - 1), "a b").logit);
  }
  for (const nlohmann::json& wrong : {nlohmann::json(0), nlohmann::json(-1), nlohmann::json("30")}) {
    TinyCheckpoint checkpoint;
    checkpoint.config["query_length"] = wrong;
    checkpoint.write(folder.path());
    expect_error(ErrorKind::invalid_data, "query_length", [&] { load(plain()); });
  }
}

TEST(BundledModel, StatesTheLimitOfItsQueries) {
  const CheckpointInfo info = inspect_checkpoint(default_model());
  EXPECT_EQ(info.max_query_tokens, 30);
}

/// The queries and documents of a pair as they are read, of 61 places.
struct CutCase {
  std::size_t query, document, query_read, document_read;
};

TEST_F(TinyCrossEncoder, ALongQueryIsCutByTheLengthOfItsDocumentAndGivesItsBits) {
  const CutCase cases[] = {{61, 0, 61, 0},    {62, 0, 61, 0},    {58, 3, 58, 3},    {59, 3, 58, 3},   {200, 3, 58, 3},
                           {200, 29, 32, 29}, {200, 30, 31, 30}, {200, 31, 31, 30}, {31, 31, 30, 31}, {40, 300, 30, 31},
                           {300, 40, 31, 30}, {30, 300, 30, 31}, {31, 300, 30, 31}, {3, 300, 3, 58},  {45, 16, 45, 16},
                           {45, 17, 44, 17},  {300, 300, 30, 31}};
  for (const BackendOptions& backend : {plain().backend, BackendOptions{Device::cpu(), Precision::fp32, 2, ""}}) {
    CrossEncoderOptions options = plain();
    options.backend = backend;
    const auto model = load(options);
    std::map<std::size_t, std::vector<const CutCase*>> by_query;
    for (const CutCase& one : cases) by_query[one.query].push_back(&one);
    for (const auto& [length, some] : by_query) {
      const std::string query = words(length);
      std::vector<std::string> texts;
      for (const CutCase* one : some) texts.push_back(words(one->document, 5));
      texts.push_back("x");  // a document more changes nothing
      const std::vector<std::string_view> documents(texts.begin(), texts.end());
      const PairScores together = model->score(query, documents);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const CutCase& one = *some[i];
        SCOPED_TRACE(std::to_string(one.query) + " + " + std::to_string(one.document));
        const PairScore& got = together.documents[i];
        EXPECT_EQ(got.tokens, static_cast<std::int32_t>(3 + one.query_read + one.document_read));
        EXPECT_EQ(got.query_truncated, one.query_read < one.query);
        EXPECT_EQ(got.truncated, one.document_read < one.document);
        const float cut = score(*model, words(one.query_read), words(one.document_read, 5)).logit;
        EXPECT_EQ(std::bit_cast<int>(got.logit), std::bit_cast<int>(cut));
        EXPECT_EQ(std::bit_cast<int>(got.logit), std::bit_cast<int>(score(*model, query, texts[i]).logit));
      }
    }
  }
}

TEST_F(TinyCrossEncoder, ASparseModelsLongQueryIsComputedOnceAndGivesItsBits) {
  TinyCheckpoint checkpoint;
  checkpoint.config.update({{"query_cls_attention", false},
                            {"query_doc_attention", false},
                            {"attention_window_size", 4},
                            {"query_length", nullptr}});
  checkpoint.write(folder.path());
  CrossEncoderOptions options = plain();
  options.backend = {Device::cpu(), Precision::fp32, 2, ""};
  const auto cpu = load(options), ref = load(plain());
  std::vector<std::string> texts;
  for (const std::size_t length : {0U, 1U, 5U, 11U, 20U, 30U, 31U, 60U, 300U}) texts.push_back(words(length, 3));
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  for (const std::size_t length : {31U, 50U, 58U, 200U}) {
    const PairScores got = cpu->score(words(length), documents), expected = ref->score(words(length), documents);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_NEAR(got.documents[i].logit, expected.documents[i].logit, 1e-5) << length << " " << i;
      EXPECT_EQ(got.documents[i].tokens, expected.documents[i].tokens);
      EXPECT_EQ(std::bit_cast<int>(got.documents[i].logit),
                std::bit_cast<int>(score(*cpu, words(length), texts[i]).logit));
    }
  }
}

TEST_F(TinyCrossEncoder, ChunksLeaveAQueryAtMostHalfOfThePlaces) {
  for (const LongDocuments mode :
       {LongDocuments::maxp, LongDocuments::firstp, LongDocuments::sump, LongDocuments::avgp, LongDocuments::topk}) {
    for (const bool by_sentences : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + (by_sentences ? " by sentences" : ""));
      CrossEncoderOptions options = plain(mode);
      options.chunk = 25;
      options.stride = 20;
      options.chunk_by = by_sentences ? ChunkBy::sentences : ChunkBy::tokens;
      const auto model = load(options), truncating = load(plain());
      // Where nothing must be split, a pair is read as without chunks.
      for (const auto& [query, document] : {std::pair(58U, 3U), std::pair(200U, 29U), std::pair(31U, 30U)}) {
        EXPECT_EQ(std::bit_cast<int>(score(*model, words(query), words(document, 5)).logit),
                  std::bit_cast<int>(score(*truncating, words(query), words(document, 5)).logit));
      }
      for (const std::size_t query : {50U, 61U, 70U, 200U}) {
        const PairScore split = score(*model, words(query), words(300, 5));
        EXPECT_TRUE(split.query_truncated);
        EXPECT_EQ(split.truncated, mode == LongDocuments::firstp);
        EXPECT_EQ(std::bit_cast<int>(split.logit), std::bit_cast<int>(score(*model, words(30), words(300, 5)).logit));
      }
      EXPECT_FALSE(score(*model, words(30), words(100, 5)).query_truncated);
    }
  }
}

TEST_F(TinyCrossEncoder, OnlyTheDocumentIsCutAndItsSeparatorStays) {
  const auto model = load(plain());  // 64 positions: 2 query pieces leave room for 59
  const PairScore fits = score(*model, "q x", words(59));
  const PairScore cut = score(*model, "q x", words(60));
  const PairScore cut_more = score(*model, "q x", words(100'000));
  EXPECT_FALSE(fits.truncated);
  EXPECT_TRUE(cut.truncated);
  EXPECT_TRUE(cut_more.truncated);
  for (const PairScore& one : {fits, cut, cut_more}) EXPECT_EQ(one.tokens, 64);
  EXPECT_EQ(fits.logit, cut.logit);
  EXPECT_EQ(fits.logit, cut_more.logit);
  EXPECT_NE(fits.logit, score(*model, "q x", words(58)).logit);
}

TEST_F(TinyCrossEncoder, IdsMadeBeforehandGiveTheSameBitsAsTheirText) {
  const auto tokenizer = load_checkpoint_tokenizer(folder.path());
  EXPECT_EQ(tokenizer.max_positions, 64);
  for (const LongDocuments mode : {LongDocuments::truncate, LongDocuments::maxp, LongDocuments::firstp,
                                   LongDocuments::sump, LongDocuments::avgp, LongDocuments::topk}) {
    CrossEncoderOptions options = plain(mode);
    options.chunk = 25;
    options.stride = 20;
    const auto model = load(options);
    EXPECT_EQ(model->tokenizer().fingerprint(), tokenizer.tokenizer->fingerprint());
    for (const std::size_t length : {0U, 1U, 58U, 59U, 60U, 61U, 63U, 64U, 65U, 200U}) {
      for (const std::size_t stored : {0U, 1U, 57U, 59U, 60U, 61U, 64U, 1000U}) {
        SCOPED_TRACE(std::to_string(length) + " pieces, " + std::to_string(stored) + " stored");
        const std::string text = words(length);
        std::vector<std::int32_t> ids;
        const bool more = tokenizer.tokenizer->encode(text, stored, ids);
        const PairDocument document{text, ids, more ? PairDocument::Ids::first : PairDocument::Ids::all};
        const PairScore expected = score(*model, "q x", text);
        const PairScore got = model->score_documents("q x", {&document, 1}).documents.at(0);
        EXPECT_EQ(std::bit_cast<int>(got.logit), std::bit_cast<int>(expected.logit));
        EXPECT_EQ(got.tokens, expected.tokens);
        EXPECT_EQ(got.truncated, expected.truncated);
      }
    }
  }
}

TEST_F(TinyCrossEncoder, IdsAreReadInsteadOfTheTextWhereTheyAreEnough) {
  const auto model = load(plain());
  std::vector<std::int32_t> other;
  model->tokenizer().encode(words(70, 3), 70, other);
  const std::string text = words(40), other_text = words(70, 3);
  const auto with = [&](std::vector<std::int32_t> ids, PairDocument::Ids which) {
    const PairDocument document{text, ids, which};
    return model->score_documents("q x", {&document, 1}).documents.at(0).logit;
  };
  const float of_text = score(*model, "q x", text).logit, of_other = score(*model, "q x", other_text).logit;
  ASSERT_NE(of_text, of_other);
  EXPECT_EQ(with(other, PairDocument::Ids::all), of_other);
  EXPECT_EQ(with(other, PairDocument::Ids::first), of_other);
  EXPECT_EQ(with(other, PairDocument::Ids::none), of_text);
  EXPECT_EQ(with({other.begin(), other.begin() + 40}, PairDocument::Ids::first), of_text) << "too few";
  for (const std::int32_t no_entry : {-1, model->tokenizer().vocabulary_size()}) {
    std::vector<std::int32_t> damaged = other;
    damaged[7] = no_entry;
    EXPECT_EQ(with(damaged, PairDocument::Ids::all), of_text) << no_entry;
  }
}

TEST_F(TinyCrossEncoder, MaxLengthCutsEarlier) {
  CrossEncoderOptions options = plain();
  options.max_length = 20;
  const auto model = load(options);
  EXPECT_EQ(model->max_length(), 20);
  const PairScore cut = score(*model, "q x", words(40));
  EXPECT_EQ(cut.tokens, 20);
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.logit, score(*load(plain()), "q x", words(15)).logit);
  // So short a limit cuts the query before it leaves no place for the document's [SEP].
  options.max_length = 4;
  const PairScores shortest = load(options)->score(words(5), std::vector<std::string_view>{"a"});
  EXPECT_EQ(shortest.query_tokens, 1);
  EXPECT_TRUE(shortest.query_truncated);
  EXPECT_EQ(shortest.documents[0].tokens, 4);
}

TEST_F(TinyCrossEncoder, BadOptionsAreRefused) {
  const auto refused = [&](auto change) {
    CrossEncoderOptions options = plain();
    change(options);
    EXPECT_FALSE(expect_error(ErrorKind::usage, [&] { load(options); }).remedy().empty());
  };
  for (const int length : {-1, 1, 3, 65, 4096}) refused([&](auto& options) { options.max_length = length; });
  refused([](auto& options) { options.attention_window = -2; });
  refused([](auto& options) {
    options.pattern = PatternChoice::full;
    options.attention_window = 3;
  });
  refused([](auto& options) {
    options.pattern = PatternChoice::sparse;
    options.attention_window = -1;
  });
  refused([](auto& options) { options.chunk = 0; });
  refused([](auto& options) { options.stride = 0; });
  refused([](auto& options) { options.top_chunks = 0; });
  refused([](auto& options) { options.stride = options.chunk + 1; });
  expect_error(ErrorKind::usage, "tpu", [] { parse_device("tpu"); });
}

TEST_F(TinyCrossEncoder, TheWindowOverrideIsTheWindowOfTheConfig) {
  for (const int window : {0, 1, 4}) {
    CrossEncoderOptions options = plain();
    options.attention_window = window;
    const auto overridden = load(options);
    EXPECT_EQ(overridden->description().stacks[0].layers.at(1).attentions[0].views[kDocument][kDocument],
              (View{View::Kind::window, window}));
    TinyCheckpoint checkpoint;
    checkpoint.config["attention_window_size"] = window;
    const TemporaryFolder other;
    checkpoint.write(other.path());
    const auto configured = CrossEncoder::load(other.path(), plain());
    EXPECT_EQ(score(*overridden, "q x", words(30)).logit, score(*configured, "q x", words(30)).logit);
    EXPECT_NE(score(*overridden, "q x", words(30)).logit, score(*load(plain()), "q x", words(30)).logit);
    options.attention_window = -1;
    EXPECT_EQ(score(*CrossEncoder::load(other.path(), options), "q x", words(30)).logit,
              score(*load(plain()), "q x", words(30)).logit);
  }
}

TEST_F(TinyCrossEncoder, ANamedPatternIsThatOfTheConfig) {
  struct Case {
    PatternChoice pattern;
    std::optional<int> window, written;
    bool query_sees;
  };
  for (const Case& each : {Case{PatternChoice::full, {}, {}, true}, Case{PatternChoice::longformer, 2, 2, true},
                           Case{PatternChoice::longformer, {}, 64, true}, Case{PatternChoice::sparse, 1, 1, false},
                           Case{PatternChoice::sparse, {}, 4, false}}) {
    TinyCheckpoint checkpoint;
    checkpoint.config["query_cls_attention"] = checkpoint.config["query_doc_attention"] = each.query_sees;
    if (each.written) checkpoint.config["attention_window_size"] = *each.written;
    const TemporaryFolder other;
    checkpoint.write(other.path());
    CrossEncoderOptions options = plain();
    options.pattern = each.pattern;
    options.attention_window = each.window;
    const auto named = load(options), trained = CrossEncoder::load(other.path(), options);
    const float logit = score(*named, "q x", words(30)).logit;
    EXPECT_EQ(logit, score(*CrossEncoder::load(other.path(), plain()), "q x", words(30)).logit);
    EXPECT_EQ(logit, score(*trained, "q x", words(30)).logit);
    EXPECT_EQ(trained->warning(), "");
    // A window of 64 covers these documents, but is a pattern of its own.
    const bool same = each.pattern == PatternChoice::full,
               same_score = each.query_sees && each.written.value_or(64) == 64;
    EXPECT_EQ(logit == score(*load(plain()), "q x", words(30)).logit, same_score);
    EXPECT_EQ(named->warning().empty(), same) << named->warning();
  }
  // The checkpoint's own window.
  TinyCheckpoint narrow;
  narrow.config["attention_window_size"] = 3;
  narrow.write(folder.path());
  CrossEncoderOptions options = plain();
  options.pattern = PatternChoice::sparse;
  EXPECT_EQ(load(options)->description().stacks[0].layers.at(1).attentions[0].views[kDocument][kDocument].window, 3);
}

TEST_F(TinyCrossEncoder, ALocalPatternSeesNothingBeyondItsWindow) {
  const auto with = [this](int window, Device device) {
    CrossEncoderOptions options = plain();
    options.backend.device = device;
    options.backend.precision = Precision::fp32;
    options.pattern = PatternChoice::local;
    options.attention_window = window;
    return load(options);
  };
  const auto logit = [](const CrossEncoder& model, std::size_t changed) {
    std::string text;
    for (std::size_t i = 0; i < 30; ++i) text += i == changed ? "z " : "a ";
    return score(model, "q x", text).logit;
  };
  constexpr std::size_t nowhere = 30;
  // The window of all tokens is the full pattern's, and [CLS] alone sees no text.
  EXPECT_EQ(logit(*with(60, Device::ref()), nowhere), logit(*load(plain()), nowhere));
  const auto alone = with(0, Device::ref());
  EXPECT_EQ(logit(*alone, nowhere), score(*alone, "x", "c d").logit);
  const auto narrow = with(3, Device::ref());
  EXPECT_FALSE(narrow->warning().empty());
  const std::size_t layers = narrow->description().stacks[0].layers.size();
  // Before the document are [CLS], two word pieces and [SEP]; each layer carries [CLS]'s sight on by the window.
  const std::size_t first_unseen = layers * 3 + 1 - 4;
  EXPECT_NE(logit(*narrow, first_unseen - 1), logit(*narrow, nowhere));
  EXPECT_EQ(logit(*narrow, first_unseen), logit(*narrow, nowhere));
  EXPECT_NEAR(logit(*with(3, Device::cpu()), first_unseen - 1), logit(*narrow, first_unseen - 1), 1e-4);
}

TEST_F(TinyCrossEncoder, QdsPutsATokenBeforeEachSentence) {
  TinyCheckpoint checkpoint;
  checkpoint.vocabulary[4] = "[SOS]";
  const TemporaryFolder other;
  checkpoint.write(other.path());
  const auto with = [](const TemporaryFolder& from, PatternChoice pattern, int window, Device device) {
    CrossEncoderOptions options = plain();
    options.backend.device = device;
    options.backend.precision = Precision::fp32;  // of the CPU, auto may be bf16
    options.pattern = pattern;
    if (pattern != PatternChoice::checkpoint) options.attention_window = window;
    return CrossEncoder::load(from.path(), options);
  };
  const std::string text = "Ab cd. Ef g h.  I j k l! M";
  const auto qds = with(other, PatternChoice::qds, 60, Device::ref());
  EXPECT_NE(qds->warning(), "");
  // With a window over everything it is the full pattern on a text that has the tokens.
  const auto full = with(other, PatternChoice::checkpoint, 0, Device::ref());
  const auto ids_of = [&](std::string_view words, std::vector<std::int32_t>& ids) {
    full->tokenizer().encode(words, 100, ids);
  };
  std::vector<std::int32_t> ids;
  for (const char* sentence : {"Ab cd.", "Ef g h.", "I j k l!", "M"}) {
    ids.push_back(4);
    ids_of(sentence, ids);
  }
  const PairDocument marked{text, ids, PairDocument::Ids::all};
  const PairScore expected = full->score_documents("q x", {&marked, 1}).documents[0];
  const PairScore got = score(*qds, "q x", text);
  EXPECT_NEAR(got.logit, expected.logit, 1e-6);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_NE(got.logit, score(*full, "q x", text).logit);
  // Stored ids do not show where sentences start.
  std::vector<std::int32_t> plain_ids;
  ids_of(text, plain_ids);
  const PairDocument stored{text, plain_ids, PairDocument::Ids::all};
  EXPECT_EQ(qds->score_documents("q x", {&stored, 1}).documents[0].logit, got.logit);
  // Without [SOS] the separator takes its place.
  for (std::int32_t& id : ids) id = id == 4 ? 3 : id;
  const PairDocument separated{text, ids, PairDocument::Ids::all};
  EXPECT_NEAR(score(*with(folder, PatternChoice::qds, 60, Device::ref()), "q x", text).logit,
              with(folder, PatternChoice::checkpoint, 0, Device::ref())
                  ->score_documents("q x", {&separated, 1})
                  .documents[0]
                  .logit,
              1e-6);
  // Narrow windows: the reference and the CPU agree, and neither equals a Longformer.
  for (const int window : {0, 1, 5}) {
    const float narrow = score(*with(other, PatternChoice::qds, window, Device::ref()), "q x", text).logit;
    EXPECT_NEAR(score(*with(other, PatternChoice::qds, window, Device::cpu()), "q x", text).logit, narrow, 1e-5);
    EXPECT_NE(score(*with(other, PatternChoice::longformer, window, Device::ref()), "q x", text).logit, narrow);
  }
  for (const std::string_view odd : {"", " ", ".", "a", "\xff. \xff. B"}) {
    EXPECT_TRUE(std::isfinite(score(*qds, "q x", odd).logit)) << odd;
  }
}

TEST_F(TinyCrossEncoder, ChunksScoreAsTheirOwnTexts) {
  // 100 words, 59 fit: chunks of 25, one every 20.
  const std::size_t count = 100, chunk = 25, stride = 20;
  std::vector<float> parts;
  const auto whole = load(plain());
  const std::string text = words(count);  // a word and a space: two bytes per piece
  for (std::size_t begin = 0;; begin += stride) {
    parts.push_back(score(*whole, "q x", text.substr(2 * begin, 2 * chunk - 1)).logit);
    if (begin + chunk >= count) break;
  }
  ASSERT_EQ(parts.size(), 5U);
  const auto with = [&](LongDocuments mode) {
    CrossEncoderOptions options = plain(mode);
    options.chunk = chunk;
    options.stride = stride;
    return load(options);
  };
  const PairScore best = score(*with(LongDocuments::maxp), "q x", text);
  EXPECT_EQ(best.logit, *std::max_element(parts.begin(), parts.end()));
  EXPECT_FALSE(best.truncated);
  EXPECT_EQ(best.tokens, 5 * (25 + 5) - 5);
  const PairScore sum = score(*with(LongDocuments::sump), "q x", text);
  EXPECT_EQ(sum.logit, static_cast<float>(std::accumulate(parts.begin(), parts.end(), 0.0)));
  EXPECT_FALSE(sum.truncated);
  EXPECT_EQ(score(*with(LongDocuments::avgp), "q x", text).logit,
            static_cast<float>(std::accumulate(parts.begin(), parts.end(), 0.0) / 5));
  std::vector<float> sorted = parts;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const std::int32_t top : {1, 2, 3, 5, 6}) {
    CrossEncoderOptions options = plain(LongDocuments::topk);
    options.chunk = chunk;
    options.stride = stride;
    options.top_chunks = top;
    const auto best_ones = std::span(sorted).first(std::min(static_cast<std::size_t>(top), sorted.size()));
    const double total = std::accumulate(best_ones.begin(), best_ones.end(), 0.0);
    EXPECT_EQ(score(*load(options), "q x", text).logit,
              static_cast<float>(total / static_cast<double>(best_ones.size())))
        << top;
  }
  const PairScore first = score(*with(LongDocuments::firstp), "q x", text);
  EXPECT_EQ(first.logit, parts[0]);
  EXPECT_TRUE(first.truncated);
  // A document that fits is never cut into chunks.
  for (const auto mode :
       {LongDocuments::maxp, LongDocuments::sump, LongDocuments::firstp, LongDocuments::avgp, LongDocuments::topk}) {
    EXPECT_EQ(score(*with(mode), "q x", words(59)).logit, score(*whole, "q x", words(59)).logit);
  }
}

TEST_F(TinyCrossEncoder, OfManyChunksTheFirstAndThoseThatShareMostWithTheQueryAreRead) {
  CrossEncoderOptions options = plain(LongDocuments::maxp);
  options.chunk = options.stride = 20;
  std::string text = words(200);
  for (const std::size_t word : {65U, 66U, 130U}) text[2 * word] = '!';  // chunks 3 (twice) and 6
  const auto part = [&](std::size_t chunk) {
    return score(*load(plain()), "!", text.substr(2 * 20 * chunk, 39)).logit;
  };
  const auto all = score(*load(options), "!", text);
  for (const std::int32_t most : {1, 2, 3, 9, 10, 11}) {
    options.max_chunks = most;
    const PairScore some = score(*load(options), "!", text);
    EXPECT_EQ(some.truncated, most < 10) << most;
    EXPECT_EQ(some.tokens, all.tokens / 10 * std::min(most, 10)) << most;
    if (most == 1) {
      EXPECT_EQ(some.logit, part(0));
    }
    if (most == 2) {
      EXPECT_EQ(some.logit, std::max(part(0), part(3)));
    }
    if (most == 3) {
      EXPECT_EQ(some.logit, std::max({part(0), part(3), part(6)}));
    }
    if (most >= 10) {
      EXPECT_EQ(some.logit, all.logit);
    }
  }
  options.keep_chunks = KeepChunks::first;
  for (const std::int32_t most : {1, 2, 5, 10, 11}) {
    options.max_chunks = most;
    const PairScore some = score(*load(options), "!", text);
    float best = part(0);
    for (std::size_t chunk = 1; chunk < static_cast<std::size_t>(std::min(most, 10)); ++chunk)
      best = std::max(best, part(chunk));
    EXPECT_EQ(some.logit, best) << most;
    EXPECT_EQ(some.truncated, most < 10) << most;
    EXPECT_EQ(some.tokens, all.tokens / 10 * std::min(most, 10)) << most;
  }
  options.max_chunks = 0;
  EXPECT_EQ(score(*load(options), "!", text).logit, all.logit);
}

TEST(ChunkChoiceTest, IsTheFirstAndTheBestInTheirOrder) {
  // Ids 0 to 9; chunks of two.
  const std::vector<std::int32_t> pieces = {9, 9, 1, 2, 9, 9, 1, 9, 2, 2, 9, 1, 1, 1, 3, 9};
  std::vector<Chunk> chunks;
  for (std::size_t begin = 0; begin < pieces.size(); begin += 2) chunks.push_back({begin, 2});
  const auto chosen = [&](std::vector<std::int32_t> query, std::size_t most) {
    std::vector<std::size_t> places;
    for (const Chunk& chunk : ChunkChoice(query, 10, most).choose(chunks, pieces, {}))
      places.push_back(chunk.begin / 2);
    return places;
  };
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(chosen({1, 2}, 2), (Places{0, 1}));
  EXPECT_EQ(chosen({3}, 2), (Places{0, 7}));
  EXPECT_EQ(chosen({1, 1, 1}, 3), (Places{0, 1, 6})) << "twice counts more than once, earlier before later";
  EXPECT_EQ(chosen({1, 3}, 3), (Places{0, 6, 7})) << "rare pieces count more";
  EXPECT_EQ(chosen({4}, 3), (Places{0, 1, 2})) << "nothing in common: the first ones";
  EXPECT_EQ(chosen({}, 3), (Places{0, 1, 2}));
  EXPECT_EQ(chosen({1}, 8).size(), 8U);
  EXPECT_EQ(chosen({1}, 100).size(), 8U);
  StopSignal due;
  due.deadline = std::chrono::steady_clock::now();
  EXPECT_THROW(ChunkChoice(pieces, 10, 1).choose(chunks, pieces, due), Error);
}

TEST_F(TinyCrossEncoder, ALongDocumentAmongOthersChangesNothing) {
  CrossEncoderOptions options = plain(LongDocuments::maxp);
  options.chunk = 30;
  options.stride = 30;
  const auto model = load(options);
  const std::string long_text = words(5000);
  const std::vector<std::string_view> documents{"a b", long_text, "c d e"};
  const PairScores scores = model->score("q", documents);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    EXPECT_EQ(scores.documents[i].logit, score(*model, "q", documents[i]).logit);
  }
}

TEST(DocumentChunks, CoverEveryPieceAndFit) {
  for (std::size_t pieces = 0; pieces < 80; ++pieces) {
    for (std::size_t room = 1; room < 40; room += 3) {
      for (std::int32_t chunk = 1; chunk < 50; chunk += 4) {
        for (std::int32_t stride = 1; stride <= chunk; stride += 3) {
          CrossEncoderOptions options;
          options.long_documents = LongDocuments::maxp;
          options.chunk = chunk;
          options.stride = stride;
          const auto chunks = document_chunks(pieces, room, options);
          ASSERT_FALSE(chunks.empty());
          ASSERT_EQ(chunks.front().begin, 0U);
          ASSERT_EQ(chunks.back().begin + chunks.back().size, pieces);
          for (std::size_t i = 0; i < chunks.size(); ++i) {
            ASSERT_LE(chunks[i].size, room);
            ASSERT_EQ(chunks[i].begin + chunks[i].size == pieces, i + 1 == chunks.size()) << "only the last ends it";
            ASSERT_TRUE(pieces == 0 || chunks[i].size > 0);
            if (i > 0) {
              ASSERT_GT(chunks[i].begin, chunks[i - 1].begin);
              ASSERT_LE(chunks[i].begin, chunks[i - 1].begin + chunks[i - 1].size)
                  << "no piece lies between two chunks";
            }
          }
        }
      }
    }
  }
}

TEST_F(TinyCrossEncoder, AStopSignalEndsTheWork) {
  const auto model = load(plain());
  const std::vector<std::string_view> documents(10, "a b c");
  StopSignal late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  expect_error(ErrorKind::deadline, [&] { model->score("q", documents, late); });
  std::stop_source source;
  source.request_stop();
  StopSignal stopped;
  stopped.stop = source.get_token();
  expect_error(ErrorKind::interrupted, [&] { model->score("q", documents, stopped); });
}

TEST_F(TinyCrossEncoder, AScoreThatIsNoNumberIsAnError) {
  TinyCheckpoint checkpoint;
  const float infinite = INFINITY;
  std::memcpy(checkpoint.tensors["classifier.bias"].bytes.data(), &infinite, sizeof infinite);
  checkpoint.write(folder.path());
  const Error error = expect_error(ErrorKind::invalid_data, [&] { score(*load(plain()), "q", "a"); });
  EXPECT_EQ(error.place(), folder.path().string());
}

TEST_F(TinyCrossEncoder, ThreadsAtOnceGiveTheSameBits) {
  const auto model = load(plain());
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 20; ++i) texts.push_back(words(1 + i * 5, i));
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  const PairScores expected = model->score("q x", documents);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const PairScores scores = model->score("q x", documents);
        for (std::size_t i = 0; i < documents.size(); ++i) {
          count += std::bit_cast<int>(scores.documents[i].logit) != std::bit_cast<int>(expected.documents[i].logit);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
}

}  // namespace
}  // namespace relucent::testing
