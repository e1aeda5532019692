// Token ids stored by IndexBuilder and handed to scorers that can use them.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "plugin/index_format/token_ids.h"
#include "relucent/index_builder.h"
#include "relucent/model/tokenizer.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/rescoring_support.h"

namespace relucent {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr const char* kModel = "model/relucent-minilm-l6-w4";

/// Remembers the candidates it was given and scores all alike.
class TokensScorer : public Scorer {
 public:
  explicit TokensScorer(std::uint64_t tokenizer)
      : token_ids_(std::make_shared<TokenIdsKind>([tokenizer] { return tokenizer; })) {}
  void score(std::string_view, std::span<const Candidate> candidates, std::span<CandidateScore>,
             const StopSignal&) const override {
    seen.clear();
    for (const Candidate& candidate : candidates) {
      const auto bytes = candidate.input(TokenIdsKind::kName);
      Seen& one =
          seen.emplace_back(Seen{std::string(candidate.id), std::string(candidate.text), bytes.has_value(), true, {}});
      if (!bytes) continue;
      const std::optional<TokenIds> ids = read_token_ids(*bytes);
      ASSERT_TRUE(ids) << one.id;
      one.all = ids->all;
      one.ids = ids->ids;
    }
  }
  InputKinds inputs() const override { return {token_ids_}; }
  std::string describe() const override { return "looks at tokens"; }

  struct Seen {
    std::string id, text;
    bool has_tokens, all;
    std::vector<std::int32_t> ids;
  };
  mutable std::vector<Seen> seen;

 private:
  std::shared_ptr<const TokenIdsKind> token_ids_;
};

class StoredTokenIds : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  CheckpointTokenizer bundled = load_checkpoint_tokenizer(kModel);
  std::vector<std::pair<std::string, std::string>> documents;

  void SetUp() override {
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      std::string text = "word";
      for (auto words = random() % 40; words > 0; --words)
        text += " tokenization" + std::to_string(random() % 1000) + "é\xFF,";
      documents.emplace_back("d" + std::to_string(i), text);
    }
    std::string longest = "word";
    for (int i = 0; i < 600; ++i) longest += " x";
    documents.emplace_back("long", longest);
    longest.resize(longest.size() - 2 * (601 - 512));  // as many as there are positions
    documents.emplace_back("just", longest);
  }

  fs::path index() const { return folder.path() / "index"; }

  void write(const fs::path& model, int threads = 1) const {
    IndexBuilder::Options options;
    options.token_ids_of = model;
    options.threads = threads;
    options.buffer_mb = 1;
    const auto builder = IndexBuilder::open(index(), IndexBuilder::Mode::overwrite, options);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      builder->add(documents[i].first, documents[i].second);
      if (i % 10 == 9) builder->commit({});
    }
    builder->close();
  }

  Config config() const {
    Config config;
    config.rescorer.timeout = std::chrono::milliseconds(0);
    config.log.level = LogLevel::warning;
    config.log.file = (folder.path() / "log").string();
    return config;
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder.path() / "log").rdbuf();
    return text.str();
  }

  std::vector<TokensScorer::Seen> candidates(std::uint64_t tokenizer, int searches = 1) const {
    const auto scorer = std::make_shared<TokensScorer>(tokenizer);
    const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(index().string())), true);
    const auto searcher = newLucene<RescoringSearcher>(reader, config(), std::make_shared<Rescorer>(config(), scorer));
    for (; searches > 0; --searches) {
      const auto hits = boost::dynamic_pointer_cast<RescoredTopDocs>(
          static_cast<Lucene::Searcher&>(*searcher).search(makeTextQuery("word", config()), 100));
      EXPECT_FALSE(hits->degraded) << hits->reason;
    }
    EXPECT_EQ(scorer->seen.size(), documents.size());
    return scorer->seen;
  }

  void expect_ids(const std::vector<TokensScorer::Seen>& seen, const CheckpointTokenizer& maker) const {
    for (const auto& one : seen) {
      ASSERT_TRUE(one.has_tokens) << one.id;
      std::vector<std::int32_t> expected;
      const bool more = maker.tokenizer->encode(one.text, static_cast<std::size_t>(maker.max_positions), expected);
      EXPECT_EQ(one.ids, expected) << one.id;
      EXPECT_EQ(one.all, !more) << one.id;
      EXPECT_EQ(more, one.id == "long");
    }
  }

  /// A checkpoint's configuration and tokenizer with two entries of the vocabulary exchanged.
  fs::path other_model() const {
    const fs::path other = folder.path() / "other";
    fs::create_directory(other);
    for (const char* name : {"config.json", "tokenizer_config.json", "vocab.txt"})
      fs::copy(fs::path(kModel) / name, other / name);
    std::ostringstream text;
    text << std::ifstream(other / "vocab.txt").rdbuf();
    std::string entries = text.str();
    const std::size_t at = entries.find("\nthe\nof\n");
    EXPECT_NE(at, std::string::npos);
    entries.replace(at, 8, "\nof\nthe\n");
    std::ofstream(other / "vocab.txt") << entries;
    return other;
  }
};

TEST_F(StoredTokenIds, AreThoseOfTheTextsWithOneThreadAndWithSeveral) {
  for (const int threads : {1, 3}) {
    write(kModel, threads);
    expect_ids(candidates(bundled.tokenizer->fingerprint()), bundled);
  }
  EXPECT_EQ(log(), "");
}

TEST_F(StoredTokenIds, StayWithTheirDocumentsWhenSegmentsAreMerged) {
  write(kModel);
  IndexBuilder::Options options;
  options.token_ids_of = kModel;
  const auto builder = IndexBuilder::open(index(), IndexBuilder::Mode::append, options);
  builder->merge(1);
  builder->close();
  expect_ids(candidates(bundled.tokenizer->fingerprint()), bundled);
}

TEST_F(StoredTokenIds, OfAnotherTokenizerAreLeftAloneAndTheLogReportsItOnce) {
  const fs::path other = other_model();
  write(other);
  for (const auto& one : candidates(bundled.tokenizer->fingerprint(), 3)) EXPECT_FALSE(one.has_tokens);
  const std::string text = log();
  const std::size_t at = text.find("token ids are from the tokenizer");
  EXPECT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("token ids are from the tokenizer", at + 1), std::string::npos) << text;
  const CheckpointTokenizer theirs = load_checkpoint_tokenizer(other);
  EXPECT_NE(theirs.tokenizer->fingerprint(), bundled.tokenizer->fingerprint());
  expect_ids(candidates(theirs.tokenizer->fingerprint()), theirs);
}

TEST_F(StoredTokenIds, AreNotReadForAScorerOfTexts) {
  write(kModel);
  for (const auto& one : candidates(0)) EXPECT_FALSE(one.has_tokens);
  EXPECT_EQ(log(), "");
}

TEST_F(StoredTokenIds, AnIndexWithoutThemIsSearchedWithoutAWord) {
  write("");
  for (const auto& one : candidates(bundled.tokenizer->fingerprint())) EXPECT_FALSE(one.has_tokens);
  EXPECT_EQ(log(), "");
}

TEST_F(StoredTokenIds, AnIndexIsContinuedWithTheSameTokenizerOnly) {
  const fs::path other = other_model();
  const auto append = [&](const fs::path& model) {
    IndexBuilder::Options options;
    options.token_ids_of = model;
    IndexBuilder::open(index(), IndexBuilder::Mode::append, options)->close();
  };
  const auto refused = [&](const fs::path& model) {
    const Error error = expect_error(ErrorKind::usage, [&] { append(model); });
    EXPECT_NE(error.remedy().find("--token-ids"), std::string::npos) << error.what();
  };
  write(kModel);
  append(kModel);
  refused("");
  refused(other);
  write("");
  append("");
  refused(kModel);
}

TEST_F(StoredTokenIds, FieldsOfTheSameNameAreRefused) {
  for (std::string IndexConfig::*field :
       {&IndexConfig::id_field, &IndexConfig::text_field, &IndexConfig::contents_field}) {
    IndexBuilder::Options options;
    options.token_ids_of = kModel;
    options.fields.*field = kTokenIdsField;
    EXPECT_THROW(IndexBuilder::open(folder.path() / "same", IndexBuilder::Mode::overwrite, options), Error);
  }
}

TEST_F(StoredTokenIds, OneFieldForTextAndContentsWorksToo) {
  IndexBuilder::Options options;
  options.token_ids_of = kModel;
  options.fields.text_field = options.fields.contents_field;
  const auto builder = IndexBuilder::open(index(), IndexBuilder::Mode::create, options);
  builder->add("1", "a word or two");
  builder->close();
  Config same = config();
  same.index = options.fields;
  const auto scorer = std::make_shared<TokensScorer>(bundled.tokenizer->fingerprint());
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(index().string())), true);
  const auto searcher = newLucene<RescoringSearcher>(reader, same, std::make_shared<Rescorer>(same, scorer));
  static_cast<Lucene::Searcher&>(*searcher).search(makeTextQuery("word", same), 1);
  ASSERT_EQ(scorer->seen.size(), 1U);
  EXPECT_EQ(scorer->seen[0].ids, (std::vector<std::int32_t>{1037, 2773, 2030, 2048}));
}

/// Ids are what they are called; the vocabulary is as large as a test wants.
class NumberTokenizer : public Tokenizer {
 public:
  explicit NumberTokenizer(std::int32_t size) : size_(size) {}
  bool encode(std::string_view text, std::size_t limit, std::vector<std::int32_t>& ids,
              const StopSignal&) const override {
    std::istringstream in{std::string(text)};
    std::size_t count = 0;
    for (std::int32_t id = 0; in >> id; ++count) {
      if (count == limit) return true;
      ids.push_back(id);
    }
    return false;
  }
  const PairTemplate& pair_template() const noexcept override { return pair_; }
  std::int32_t vocabulary_size() const noexcept override { return size_; }
  std::uint64_t fingerprint() const noexcept override { return 1; }
  std::string summary() const override { return "numbers"; }

 private:
  std::int32_t size_;
  PairTemplate pair_;
};

TEST(TokenIdsForm, ComesBackAsItWasWritten) {
  for (const auto& [size, bytes_each] : {std::pair{65536, 2U}, {65537, 4U}, {250'002, 4U}}) {
    const TokenIdEncoder maker{std::make_shared<NumberTokenizer>(size), 5};
    const std::string last = std::to_string(size - 1);
    std::string bytes = "what was there";
    write_token_ids(maker, "0 1 256 300 " + last, bytes);
    EXPECT_EQ(bytes.size(), 1 + 5 * bytes_each);
    EXPECT_EQ(read_token_ids(bytes).value().ids, (std::vector<std::int32_t>{0, 1, 256, 300, size - 1}));
    EXPECT_TRUE(read_token_ids(bytes).value().all);
    write_token_ids(maker, "1 2 3 4 5 6", bytes);
    EXPECT_EQ(read_token_ids(bytes).value().ids.size(), 5U);
    EXPECT_FALSE(read_token_ids(bytes).value().all);
    write_token_ids(maker, "", bytes);
    EXPECT_EQ(read_token_ids(bytes).value().ids.size(), 0U);
    EXPECT_TRUE(read_token_ids(bytes).value().all);
  }
}

TEST(TokenIdsForm, WhatCannotBeIdsIsNotRead) {
  for (const std::string_view bytes : {std::string_view(), std::string_view("\x04", 1), std::string_view("\x00\x01", 2),
                                       std::string_view("\x02\x01\x02\x03", 4), std::string_view("\xFF\x01\x02", 3)}) {
    EXPECT_FALSE(read_token_ids(bytes));
  }
}

}  // namespace
}  // namespace relucent
