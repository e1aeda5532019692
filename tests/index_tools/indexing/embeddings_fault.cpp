// An index's stored embeddings, from encoding to searching: the same bits as texts encoded during the search; merges,
// deletions and damage; and the messages where they are missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "index_tools/indexing/encode_index.h"
#include "relucent/model/checkpoint.h"
#include "relucent/searcher_manager.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/rescoring_support.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using index_tools::check_embeddings;
using index_tools::encode_index;
using index_tools::EncodeSummary;

/// A scorer that counts what it is given.
class Watched : public Scorer {
 public:
  explicit Watched(std::shared_ptr<const Scorer> scorer) : scorer_(std::move(scorer)) {
    const auto kind = embeddings_of(*scorer_);
    embeddings_ = std::make_shared<EmbeddingKind>(
        kind->shape(),
        [this, kind](std::span<const std::string_view> some, const StopSignal& stop) {
          if (before_encoding) before_encoding();
          encoded += static_cast<int>(some.size());
          return kind->encode(some, stop);
        },
        kind->optional());
  }
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const override {
    for (const Candidate& candidate : candidates) {
      texts += candidate.text.empty() ? 0 : 1;
      embeddings += candidate.input(EmbeddingKind::kName).value_or("").empty() ? 0 : 1;
    }
    scorer_->score(query, candidates, scores, stop);
  }
  InputKinds inputs() const override { return {embeddings_}; }
  std::string describe() const override { return scorer_->describe(); }

  std::function<void()> before_encoding;
  mutable std::atomic<int> texts = 0, embeddings = 0, encoded = 0;

 private:
  std::shared_ptr<const Scorer> scorer_;
  std::shared_ptr<const EmbeddingKind> embeddings_;
};

using Scores = std::map<std::int32_t, std::uint32_t>;  ///< by document, the logit's bits

class StoredEmbeddingsOfAnIndex : public ::testing::Test {
 protected:
  StoredEmbeddingsOfAnIndex() {
    TinyCheckpoint().write(folder / "bert");
    init_mix_encoder(folder / "bert", folder / "mix",
                     {.context = 2, .interaction_layers = {0, 1}, .query_max_length = 12, .candidate_max_length = 20});
    config.rescorer.model = (folder / "mix").string();
    config.rescorer.device = Device::cpu();
    config.rescorer.threads = 2;
    config.rescorer.precision = Precision::fp32;
    config.rescorer.window = 1000;
    config.log.level = LogLevel::off;
    scorer = std::make_shared<Watched>(make_scorer(config.rescorer));
  }

  fs::path index() const { return folder / "index"; }

  static std::vector<TestDocument> documents(int count, int first = 0) {
    std::vector<TestDocument> some;
    for (int i = first; i < first + count; ++i) {
      std::string text = "word";
      for (int k = 0; k < i % 30; ++k) text += std::string(" ") + static_cast<char>('a' + (i * 7 + k * 3) % 26);
      some.push_back({"d" + std::to_string(i), text});
    }
    return some;
  }

  EncodeSummary encode(EmbeddingNumbers numbers = EmbeddingNumbers::fp32, const StopSignal& stop = {}) const {
    return encode_index({index(), config.index, scorer, numbers, true, stop});
  }

  Lucene::IndexSearcherPtr searcher(const Config& with) const {
    return newLucene<RescoringSearcher>(open_reader(index()), with, std::make_shared<Rescorer>(with, scorer));
  }
  RescoredTopDocsPtr search(const Config& with) const { return search(searcher(with), with); }
  static RescoredTopDocsPtr search(const Lucene::IndexSearcherPtr& with, const Config& of) {
    return rescored(static_cast<Lucene::Searcher&>(*with).search(makeTextQuery("word", of), of.rescorer.window));
  }
  static Scores scores(const RescoredTopDocsPtr& answer) {
    EXPECT_EQ(answer->status, RescoreStatus::rescored) << answer->reason;
    EXPECT_FALSE(answer->degraded) << answer->reason;
    Scores bits;
    for (std::int32_t i = 0; i < answer->scoreDocs.size(); ++i) {
      const RescoredHitPtr hit = rescored_hit(answer, i);
      if (hit->logit) bits[hit->doc] = std::bit_cast<std::uint32_t>(*hit->logit);
    }
    return bits;
  }

  /// With texts encoded during the search, from a copy of the index without embeddings.
  Scores scores_of_texts() const {
    const fs::path copy = folder / "copy";
    fs::remove_all(copy);
    fs::copy(index(), copy);
    for (const auto& entry : fs::directory_iterator(copy)) {
      if (entry.path().extension() == ".embeddings") fs::remove(entry);
    }
    Config lenient = config;
    lenient.rescorer.missing_embeddings = MissingEmbeddings::encode;
    const auto over_copy =
        newLucene<RescoringSearcher>(open_reader(copy), lenient, std::make_shared<Rescorer>(lenient, scorer));
    return scores(search(over_copy, lenient));
  }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(index())) {
      const std::string name = entry.path().filename().string();
      if (name.find(".embeddings") != std::string::npos) all[name] = bytes_of(entry.path());
    }
    return all;
  }

  void flip(const fs::path& file, std::ptrdiff_t from_end) const {
    std::string bytes = bytes_of(file);
    char& byte = bytes[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(bytes.size()) - from_end)];
    byte = static_cast<char>(byte ^ 4);
    folder.write(fs::relative(file, folder.path()).string(), bytes);
  }

  const TemporaryFolder folder;
  Config config;
  std::shared_ptr<Watched> scorer;
};

TEST_F(StoredEmbeddingsOfAnIndex, GiveTheBitsOfTextsEncodedDuringTheSearch) {
  write_own(index(), documents(1500), 400);
  const EncodeSummary summary = encode();
  EXPECT_EQ(summary.documents, 1500);
  EXPECT_EQ(summary.encoded, 1500);
  EXPECT_EQ(summary.bytes_per_document, 2 * 8 * 4U);
  for (const std::int32_t window : {1, 7, 1000, 10000}) {
    config.rescorer.window = window;
    const Scores expected = scores_of_texts();
    scorer->texts = scorer->embeddings = 0;
    const RescoredTopDocsPtr answer = search(config);
    EXPECT_EQ(scores(answer), expected);
    EXPECT_EQ(expected.size(), static_cast<std::size_t>(std::min(window, 1500)));
    EXPECT_EQ(answer->encoded, 0);
    EXPECT_EQ(answer->rescored, std::min(window, 1500));
    EXPECT_EQ(scorer->embeddings, std::min(window, 1500));
    EXPECT_EQ(scorer->texts, 0);  // none was even read
  }
}

/// The states of a Deformer's documents, which an index may lack.
class StoredStatesOfAnIndex : public StoredEmbeddingsOfAnIndex {
 protected:
  StoredStatesOfAnIndex() {
    init_deformer(folder / "bert", folder / "deformer", {.query_length = 6});
    config.rescorer.model = (folder / "deformer").string();
    scorer = std::make_shared<Watched>(make_scorer(config.rescorer));
  }
};

TEST_F(StoredStatesOfAnIndex, GiveTheBitsOfTexts) {
  write_own(index(), documents(300), 100);
  const Scores expected = scores(search(config));
  EXPECT_EQ(expected.size(), 300U);
  EXPECT_EQ(scorer->texts, 300);
  EXPECT_EQ(encode().encoded, 300);
  scorer->texts = 0;
  EXPECT_EQ(scores(search(config)), expected);
  EXPECT_EQ(scorer->texts, 0);
  EXPECT_EQ(scorer->embeddings, 300);
  // Documents that are added later are read by their texts until they are encoded as well.
  {
    const auto builder = open_builder(index(), IndexBuilder::Mode::append);
    for (const TestDocument& document : documents(10, 300)) builder->add(document.id, document.text);
    builder->commit({});
    builder->close();
  }
  const Scores more = scores(search(config));
  EXPECT_EQ(more.size(), 310U);
  EXPECT_EQ(scorer->texts, 10);
  EXPECT_EQ(encode().encoded, 10);
  scorer->texts = 0;
  EXPECT_EQ(scores(search(config)), more);
  EXPECT_EQ(scorer->texts, 0);
  // In fewer bits.
  for (const auto& [numbers, tolerance] : {std::pair{EmbeddingNumbers::fp16, 0.02}, {EmbeddingNumbers::int8, 0.5}}) {
    encode(numbers);
    const Scores found = scores(search(config));
    for (const auto& [document, bits] : more) {
      EXPECT_NEAR(std::bit_cast<float>(found.at(document)), std::bit_cast<float>(bits), tolerance);
    }
  }
}

TEST_F(StoredEmbeddingsOfAnIndex, InFewerBitsScoreAlmostAlike) {
  write_own(index(), documents(200), 70);
  const Scores exact = scores_of_texts();
  for (const auto& [numbers, tolerance] : {std::pair{EmbeddingNumbers::fp16, 0.02}, {EmbeddingNumbers::int8, 0.5}}) {
    encode(numbers);
    const Scores found = scores(search(config));
    ASSERT_EQ(found.size(), exact.size());
    EXPECT_NE(found, exact);
    for (const auto& [document, bits] : exact) {
      EXPECT_NEAR(std::bit_cast<float>(found.at(document)), std::bit_cast<float>(bits), tolerance);
    }
  }
}

TEST_F(StoredEmbeddingsOfAnIndex, MissingOnesFailTheOpeningAndNameTheCommand) {
  write_own(index(), documents(20), 10);
  expect_error(ErrorKind::io, {"relucent-_", ".embeddings", "is missing", "relucent encode", "missing_embeddings"},
               [&] { openSearcher(index(), config); });
  expect_error(ErrorKind::io, "relucent encode", [&] { search(config); });
  // A searcher that is not Relucent's own is first known when hits are rescored.
  const Rescorer rescorer(config, scorer);
  const auto plain = newLucene<BM25Searcher>(open_reader(index()), config.first_stage, config.index);
  const auto first = static_cast<Lucene::Searcher&>(*plain).search(term_query("word"), 20);
  const RescoredTopDocsPtr answer = rescorer.rescore(plain, first, "word", 20);
  EXPECT_TRUE(answer->degraded);
  EXPECT_EQ(answer->status, RescoreStatus::failed);
  EXPECT_NE(answer->reason.find("relucent encode"), std::string::npos) << answer->reason;
  config.rescorer.missing_embeddings = MissingEmbeddings::encode;
  EXPECT_EQ(search(config)->encoded, 20);
}

TEST_F(StoredEmbeddingsOfAnIndex, AreCompletedAfterDocumentsAreAdded) {
  write_own(index(), documents(90), 30);
  encode();
  const auto before = files();
  {
    const auto builder = open_builder(index(), IndexBuilder::Mode::append);
    for (const TestDocument& document : documents(10, 90)) builder->add(document.id, document.text);
    builder->commit({});
    builder->close();
  }
  expect_error(ErrorKind::io, "is missing", [&] { search(config); });
  Config lenient = config;
  lenient.rescorer.missing_embeddings = MissingEmbeddings::encode;
  const RescoredTopDocsPtr answer = search(lenient);
  EXPECT_EQ(answer->rescored, 100);
  EXPECT_EQ(answer->encoded, 10);
  const Scores expected = scores_of_texts();
  EXPECT_EQ(scores(answer), expected);
  const EncodeSummary summary = encode();
  EXPECT_EQ(summary.encoded, 10);
  EXPECT_EQ(summary.kept_segments + 1, summary.segments);
  EXPECT_EQ(scores(search(config)), expected);
  const auto after = files();
  for (const auto& [name, bytes] : before) EXPECT_EQ(after.at(name), bytes) << name;
  EXPECT_EQ(encode().encoded, 0);
}

TEST_F(StoredEmbeddingsOfAnIndex, SurviveDeletionsButNotMerges) {
  write_stock(index(), documents(100), 25);
  encode();
  const auto deleted = newLucene<Lucene::Term>(L"id", L"d7");
  {
    const auto writer = stock_writer(index(), false);
    writer->deleteDocuments(deleted);
    writer->close();
  }
  EXPECT_EQ(encode().encoded, 0);
  EXPECT_EQ(search(config)->rescored, 99);
  EXPECT_EQ(scores(search(config)), scores_of_texts());
  const auto before = files();
  {
    const auto writer = stock_writer(index(), false);
    writer->optimize();
    writer->close();
  }
  expect_error(ErrorKind::io, "is missing", [&] { search(config); });
  EXPECT_EQ(check_embeddings(index(), true).left_over.size(), before.size());
  const EncodeSummary summary = encode();
  EXPECT_EQ(summary.encoded, 99);
  EXPECT_EQ(summary.removed.size(), before.size());
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(scores(search(config)), scores_of_texts());
}

TEST_F(StoredEmbeddingsOfAnIndex, OfDocumentsDeletedBeforeHaveNoRecord) {
  write_stock(index(), documents(30), 30);
  {
    const auto writer = stock_writer(index(), false);
    writer->deleteDocuments(newLucene<Lucene::Term>(L"id", L"d3"));
    writer->close();
  }
  const EncodeSummary summary = encode();
  EXPECT_EQ(summary.documents, 29);
  EXPECT_EQ(summary.encoded, 29);
  EXPECT_EQ(scorer->encoded, 29);
  EXPECT_EQ(search(config)->rescored, 29);
}

TEST_F(StoredEmbeddingsOfAnIndex, KeepHitsWithoutTextApart) {
  std::vector<StoredDocument> some = ten_documents({"a b", std::nullopt, "", " \n ", "c", "d e"});
  const SmallIndex small(some);
  config.first_stage.analyzer = AnalyzerKind::whitespace;
  const auto run = [&](MissingEmbeddings missing) {
    Config with = config;
    with.rescorer.missing_embeddings = missing;
    return search(rescoring_searcher(small, with, scorer), with);
  };
  const RescoredTopDocsPtr expected = run(MissingEmbeddings::encode);
  const EncodeSummary summary = encode_index({small.folder(), config.index, scorer, EmbeddingNumbers::fp32, true, {}});
  EXPECT_EQ(summary.encoded, 3);
  EXPECT_EQ(summary.without_text, 7);
  const RescoredTopDocsPtr found = run(MissingEmbeddings::error);
  EXPECT_EQ(expected->encoded, 3);
  EXPECT_EQ(found->encoded, 0);
  EXPECT_EQ(found->without_text, 7);
  EXPECT_EQ(found->without_text, expected->without_text);
  EXPECT_EQ(documents_of(found), documents_of(expected));
  EXPECT_EQ(scores_of(found), scores_of(expected));
}

TEST_F(StoredEmbeddingsOfAnIndex, OfAnotherModelOrOtherFieldsAreRefused) {
  write_own(index(), documents(20), 10);
  encode();
  Config other_field = config;
  other_field.index.text_fields = {"id", "text"};
  expect_error(ErrorKind::invalid_data, {"was encoded from the field \"text\"", "relucent encode"},
               [&] { search(other_field); });
  TinyCheckpoint(2).write(folder / "bert2");
  init_mix_encoder(folder / "bert2", folder / "mix2",
                   {.context = 2, .interaction_layers = {0, 1}, .query_max_length = 12, .candidate_max_length = 20});
  config.rescorer.model = (folder / "mix2").string();
  scorer = std::make_shared<Watched>(make_scorer(config.rescorer));
  expect_error(ErrorKind::invalid_data, {"another checkpoint", "relucent encode"}, [&] { search(config); });
  EXPECT_EQ(encode().encoded, 20);
  EXPECT_EQ(scores(search(config)), scores_of_texts());
}

TEST_F(StoredEmbeddingsOfAnIndex, DamagedOnesAreSaidAndCanBeEncodedNow) {
  write_own(index(), documents(40), 40);
  encode();
  const Scores expected = scores_of_texts();
  const fs::path file = index() / files().begin()->first;
  flip(file, 8 + 8 + 3);  // in the last document's numbers
  const RescoredTopDocsPtr answer = search(config);
  EXPECT_TRUE(answer->degraded);
  EXPECT_NE(answer->reason.find(file.string() + ": the record of document 39 is damaged"), std::string::npos)
      << answer->reason;
  Config lenient = config;
  lenient.rescorer.missing_embeddings = MissingEmbeddings::encode;
  const RescoredTopDocsPtr repaired = search(lenient);
  EXPECT_EQ(repaired->encoded, 1);
  EXPECT_EQ(scores(repaired), expected);
  EXPECT_EQ(check_embeddings(index(), true).damaged.size(), 1U);
  EXPECT_EQ(encode().encoded, 40);
  EXPECT_EQ(scores(search(config)), expected);
  // A file of another version, or a truncated one, is not opened at all.
  for (const bool truncated : {false, true}) {
    std::string bytes = bytes_of(file);
    truncated ? bytes.resize(bytes.size() / 2) : void(bytes[16] = 7);
    folder.write("index/" + file.filename().string(), bytes);
    expect_error(ErrorKind::invalid_data, {file.string(), "relucent encode"}, [&] { search(config); });
    EXPECT_EQ(search(lenient)->encoded, 40);
    EXPECT_EQ(scores(search(lenient)), expected);
  }
  EXPECT_EQ(encode().encoded, 40);
  EXPECT_EQ(scores(search(config)), expected);
  EXPECT_TRUE(check_embeddings(index(), true).damaged.empty());
}

TEST_F(StoredEmbeddingsOfAnIndex, OfAnotherIndexAreRefused) {
  write_own(index(), documents(40), 40);
  encode();
  const auto mine = files();
  fs::remove_all(index());
  write_own(index(), documents(40, 1), 40);  // the same names and numbers
  for (const auto& [name, bytes] : mine) folder.write("index/" + name, bytes);
  expect_error(ErrorKind::invalid_data, "of another segment, or of another index", [&] { search(config); });
}

TEST_F(StoredEmbeddingsOfAnIndex, ServeOneStageOfSeveral) {
  write_own(index(), documents(100), 50);
  encode();
  StageConfig first = config.rescorer, second = config.rescorer;
  first.window = 60;
  second.window = 7;
  config.rescorer.stages = {first, second};
  const auto numbers = std::make_shared<NumberScorer>();
  const std::vector<std::shared_ptr<const Scorer>> scorers = {scorer, numbers};
  const auto run = [&] {
    const auto over =
        newLucene<RescoringSearcher>(open_reader(index()), config, std::make_shared<Rescorer>(config, scorers));
    return rescored(static_cast<Lucene::Searcher&>(*over).search(makeTextQuery("word", config), 100));
  };
  scorer->texts = scorer->embeddings = 0;
  const RescoredTopDocsPtr answer = run();
  EXPECT_FALSE(answer->degraded) << answer->reason;
  EXPECT_EQ(scorer->embeddings, 60);
  EXPECT_EQ(scorer->texts, 0);
  EXPECT_EQ(numbers->sizes, std::vector<std::size_t>{7});
  ASSERT_EQ(answer->stages.size(), 2U);
  EXPECT_EQ(answer->stages[0].rescored, 60);
  EXPECT_FALSE(numbers->ids.front().empty());  // of texts that were read for this stage alone
}

TEST_F(StoredEmbeddingsOfAnIndex, AreReadUnderTheDeadline) {
  write_own(index(), documents(50), 50);
  encode();
  config.rescorer.timeout = std::chrono::milliseconds(1);
  const auto slow = std::make_shared<NumberScorer>();
  slow->before = [](const StopSignal&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  StageConfig one = config.rescorer;
  config.rescorer.stages = {one, one};
  const std::vector<std::shared_ptr<const Scorer>> scorers = {slow, scorer};
  const auto over =
      newLucene<RescoringSearcher>(open_reader(index()), config, std::make_shared<Rescorer>(config, scorers));
  const auto answer = rescored(static_cast<Lucene::Searcher&>(*over).search(makeTextQuery("word", config), 50));
  EXPECT_TRUE(answer->degraded);
  EXPECT_EQ(answer->status, RescoreStatus::failed);
}

TEST_F(StoredEmbeddingsOfAnIndex, ExplainThatTheyWereRead) {
  write_own(index(), documents(20), 20);
  encode();
  const auto over = searcher(config);
  const auto explained = to_utf8(over->explain(makeTextQuery("word", config), 3)->toString());
  EXPECT_NE(explained.find("from the stored embedding"), std::string::npos) << explained;
}

TEST_F(StoredEmbeddingsOfAnIndex, GoOnAfterAnInterruptionWithTheSameBytes) {
  write_own(index(), documents(1300), 1300);
  encode();
  const auto whole = files();
  for (const auto& [name, bytes] : whole) fs::remove(index() / name);
  std::stop_source source;
  StopSignal stop;
  stop.stop = source.get_token();
  int calls = 0;
  scorer->before_encoding = [&] {
    if (++calls == 2) source.request_stop();
  };
  expect_error(ErrorKind::interrupted, {"256 documents are encoded and safe", "again"},
               [&] { encode(EmbeddingNumbers::fp32, stop); });
  EXPECT_TRUE(fs::exists(index() / (whole.begin()->first + ".part")));
  expect_error(ErrorKind::io, "is missing", [&] { search(config); });
  const EncodeSummary summary = encode();
  EXPECT_EQ(summary.resumed, 256);
  EXPECT_EQ(summary.encoded, 1300 - 256);
  EXPECT_EQ(files(), whole);
}

TEST_F(StoredEmbeddingsOfAnIndex, DoNotDependOnTheNumberOfThreads) {
  write_own(index(), documents(600), 250);
  encode();
  const auto expected = files();
  for (const int threads : {1, 3}) {
    for (const auto& [name, bytes] : expected) fs::remove(index() / name);
    config.rescorer.threads = threads;
    scorer = std::make_shared<Watched>(make_scorer(config.rescorer));
    encode();
    EXPECT_EQ(files(), expected) << threads;
  }
}

/// How many files of embeddings of the folder this process has open.
int open_embeddings(const fs::path& folder) {
  int count = 0;
  for (const auto& descriptor : fs::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const fs::path file = fs::read_symlink(descriptor.path(), closed);
    count += file.parent_path() == folder && file.string().find(".embeddings") != std::string::npos;
  }
  return count;
}

TEST_F(StoredEmbeddingsOfAnIndex, AreLetGoOfWithTheLastSearcherOfTheOldCommit) {
  write_own(index(), documents(60), 30);
  encode();
  SearcherManager manager(index(), std::make_shared<const Rescorer>(config, scorer));
  ManagedSearcher old = manager.acquire();
  EXPECT_EQ(open_embeddings(index()), 2);
  const Scores expected = scores(search(old.searcher, config));
  {
    const auto builder = open_builder(index(), IndexBuilder::Mode::append);
    for (const TestDocument& document : documents(20, 60)) builder->add(document.id, document.text);
    builder->close();
  }
  expect_error(ErrorKind::io, "encode", [&] { manager.maybeRefresh(); });
  EXPECT_EQ(manager.acquire().searcher, old.searcher);
  EXPECT_EQ(open_embeddings(index()), 2);

  encode();
  EXPECT_TRUE(manager.maybeRefresh());
  EXPECT_EQ(scores(search(old.searcher, config)), expected);
  EXPECT_EQ(open_embeddings(index()), 5);
  old = {};
  EXPECT_EQ(open_embeddings(index()), 3);
  EXPECT_EQ(scores(search(manager.acquire().searcher, config)).size(), 80U);
}

TEST_F(StoredEmbeddingsOfAnIndex, AreOpenedAndReadByManyThreads) {
  write_own(index(), documents(120), 30);
  encode();
  const Scores expected = scores(search(config));
  const auto rescorer = std::make_shared<Rescorer>(config, scorer);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto mine = newLucene<RescoringSearcher>(open_reader(index()), config, rescorer);
      for (int k = 0; k < 3; ++k) right += scores(search(mine, config)) == expected ? 1 : 0;
    });
  }
  const auto shared = newLucene<RescoringSearcher>(open_reader(index()), config, rescorer);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) right += scores(search(shared, config)) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 24);
}

}  // namespace
}  // namespace relucent::testing
