// Our readers' documents against what was really indexed for the BM25 answers, and against records as ir_datasets
// parses them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/verify.h"
#include "tests/support/corpora_goldens.h"
#include "tests/support/gz_lines.h"
#include "tests/support/indexing_support.h"
#include "tests/support/test_data.h"

namespace relucent {
namespace {

using index_tools::Document;
using nlohmann::json;
namespace fs = std::filesystem;

bool known_corpus(const std::string& id) {
  for (const auto& corpus : index_tools::corpora()) {
    if (corpus.id == id) return true;
  }
  return false;
}

TEST(IndexingGolden, ReadersGiveTheTextsThatWereIndexed) {
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  RELUCENT_NEEDS(testing::test_data() / "collections");
  int compared = 0;
  for (const fs::path& file : testing::golden_listing("bm25")) {
    const std::string name = file.filename().string();
    constexpr std::string_view suffix = ".docs.jsonl.gz";
    if (!name.ends_with(suffix)) continue;
    const std::string corpus = name.substr(0, name.size() - suffix.size());
    const fs::path collection = testing::test_data() / "collections" / corpus;
    if (!known_corpus(corpus) || !fs::exists(collection)) continue;
    SCOPED_TRACE(name);
    const auto read = testing::read_corpus(corpus, {collection.string()}, true);
    std::size_t i = 0;
    testing::for_each_line(file, [&](const std::string& line) {
      const json expected = json::parse(line);
      ASSERT_LT(i, read.documents.size());
      ASSERT_EQ(read.documents[i].id, expected.at("id").get<std::string>());
      ASSERT_EQ(read.documents[i].text, expected.at("text").get<std::string>()) << read.documents[i].id;
      ++i;
    });
    EXPECT_EQ(i, read.documents.size());
    EXPECT_EQ(static_cast<std::int64_t>(i), index_tools::find_corpus(corpus).official_documents);
    ++compared;
  }
  if (compared == 0)
    GTEST_SKIP() << "SKIPPED: no collection in " << testing::golden_path("bm25") << " has its files in "
                 << testing::test_data() / "collections";
}

TEST(IndexingGolden, IndexedCorporaHaveJavaLucenesStatistics) {
  RELUCENT_NEEDS(testing::golden_path("bm25"));
  RELUCENT_NEEDS(testing::test_data() / "collections");
  for (const auto& corpus : index_tools::corpora()) {
    const fs::path stats = testing::golden_path("bm25/" + corpus.id + ".stats.json");
    const fs::path collection = testing::test_data() / "collections" / corpus.id;
    if (!fs::exists(stats) || !fs::exists(collection)) continue;
    SCOPED_TRACE(corpus.id);
    const testing::TemporaryFolder folder;
    index_tools::IndexJob job;
    job.corpus = corpus.id;
    job.inputs = {collection.string()};
    job.index = folder / "index";
    job.commit_every = 1000;
    job.strict = job.quiet = true;
    const auto summary = index_tools::run_index(job);
    const json expected = json::parse(testing::bytes_of(stats)).at("single");
    EXPECT_EQ(summary.totals.documents, expected.at("maxDoc").get<std::int64_t>());
    EXPECT_EQ(summary.totals.documents_with_tokens, expected.at("docCount").get<std::int64_t>());
    EXPECT_EQ(summary.totals.tokens, expected.at("sumTotalTermFreq").get<std::int64_t>());
    index_tools::VerifyJob check;
    check.index = job.index;
    check.corpus = corpus.id;
    check.quiet = true;
    for (const auto& done : index_tools::verify_index(check).checks) {
      EXPECT_EQ(done.status, index_tools::Check::Status::ok) << done.name << ": " << done.detail;
    }
  }
}

// A text, or only its start and end: "^start.{N}end$".
::testing::AssertionResult text_matches(const json& expected, const std::string& text) {
  if (expected.is_string()) {
    if (expected.get_ref<const std::string&>() == text) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "expected " << expected << ", read " << json(text);
  }
  std::string pattern = expected.at("regex").get<std::string>();
  if (const std::size_t any = pattern.find(".{"); any != std::string::npos) pattern.replace(any, 2, "[^]{");
  if (std::regex_match(text, std::regex(pattern))) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected " << expected << ", read " << json(text);
}

TEST(IndexingGolden, CranfieldAndVaswaniAgreeWithIrDatasetsRecords) {
  RELUCENT_NEEDS(testing::test_data() / "formats/irds-integration-samples");
  RELUCENT_NEEDS(testing::test_data() / "collections");
  for (const std::string corpus : {"cranfield", "vaswani"}) {
    SCOPED_TRACE(corpus);
    std::int64_t official = 0;
    const std::vector<json> samples = testing::sample_documents(corpus + ".jsonl", corpus, official);
    ASSERT_FALSE(samples.empty());
    const auto read = testing::read_corpus(corpus, {(testing::test_data() / "collections" / corpus).string()}, true);
    EXPECT_EQ(static_cast<std::int64_t>(read.documents.size()), official);
    EXPECT_EQ(index_tools::find_corpus(corpus).official_documents, official);
    for (const json& sample : samples) {
      const Document& document = read.documents.at(sample.at("index").get<std::size_t>());
      const json& record = sample.at("record");
      EXPECT_EQ(document.id, record.at("arg0").get<std::string>());
      if (corpus == "vaswani") {
        EXPECT_TRUE(text_matches(record.at("arg1"), document.text));
      } else {
        const std::string title = record.at("arg1").get<std::string>() + " ";
        ASSERT_TRUE(document.text.starts_with(title)) << document.text;
        EXPECT_TRUE(text_matches(record.at("arg2"), document.text.substr(title.size())));
      }
    }
  }
}

TEST(IndexingGolden, MsMarcoPassagesAgreeWithIrDatasetsRecords) {
  const fs::path sample_file = testing::test_data() / "formats/rebuilt-from-irds/msmarco-passage.collection.sample.tsv";
  RELUCENT_NEEDS(sample_file);
  RELUCENT_NEEDS(testing::test_data() / "formats/irds-integration-samples");
  std::int64_t official = 0;
  std::map<std::string, json> texts;
  for (const json& sample : testing::sample_documents("msmarco_passage.jsonl", "msmarco-passage", official)) {
    texts[sample.at("record").at("doc_id").get<std::string>()] = sample.at("record").at("text");
  }
  EXPECT_EQ(index_tools::find_corpus("msmarco-passage").official_documents, official);
  const auto read = testing::read_corpus("msmarco-passage", {sample_file.string()}, true);
  ASSERT_FALSE(read.documents.empty());
  for (const Document& document : read.documents) {
    ASSERT_TRUE(texts.contains(document.id)) << document.id;
    EXPECT_TRUE(text_matches(texts[document.id], document.text));
  }
}

// As the distributed collection holds it: every byte of a character beyond ASCII as a character of its own.
std::string encoded_twice(const std::string& text) {
  std::string twice;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      twice += c;
    } else {
      twice += static_cast<char>(0xC0 | (byte >> 6));
      twice += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return twice;
}

TEST(IndexingGolden, DoubleEncodedMsMarcoPassagesBecomeIrDatasetsTexts) {
  RELUCENT_NEEDS(testing::test_data() / "formats/irds-integration-samples/msmarco_passage.jsonl");
  std::int64_t official = 0;
  std::string file;
  std::vector<std::string> expected;
  int beyond_ascii = 0;
  for (const json& sample : testing::sample_documents("msmarco_passage.jsonl", "msmarco-passage", official)) {
    if (!sample.at("record").at("text").is_string()) continue;
    expected.push_back(sample.at("record").at("text").get<std::string>());
    const std::string twice = encoded_twice(expected.back());
    beyond_ascii += twice != expected.back() ? 1 : 0;
    file += sample.at("record").at("doc_id").get<std::string>() + "\t" + twice + "\n";
  }
  ASSERT_GT(beyond_ascii, 0);
  const auto read = testing::read_text("msmarco-passage", file, true);
  ASSERT_EQ(read.documents.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(read.documents[i].text, expected[i]);
}

// Vaswani's other form, made from the TREC one, gives the same documents.
TEST(IndexingGolden, BothFormsOfVaswaniAreOneCorpus) {
  RELUCENT_NEEDS(testing::test_data() / "collections/vaswani");
  const auto trec = testing::read_corpus("vaswani", {(testing::test_data() / "collections/vaswani").string()}, true);
  std::string plain;
  for (const Document& document : trec.documents) plain += document.id + "\n" + document.text + "   /\n";
  const auto read = testing::read_text("vaswani", plain, true);
  ASSERT_EQ(read.documents.size(), trec.documents.size());
  for (std::size_t i = 0; i < trec.documents.size(); ++i) {
    ASSERT_EQ(read.documents[i].id, trec.documents[i].id);
    ASSERT_EQ(read.documents[i].text, trec.documents[i].text);
  }
}

// Every piece of MS MARCO v1 and BEIR that is there, against a plain JSON parser.
TEST(IndexingGolden, JsonlPiecesReadAsTheirJsonStates) {
  const fs::path formats = testing::test_data() / "formats";
  RELUCENT_NEEDS(formats);
  int pieces = 0;
  for (const char* folder :
       {"anserini/msmarco-v1-passage", "anserini/beir-nfcorpus", "tirex-rerank/sample-input-full-rank"}) {
    if (!fs::exists(formats / folder)) continue;
    const auto read = testing::read_corpus("jsonl", {(formats / folder).string()}, true,
                                           {"docs*.json", "corpus.jsonl", "documents.jsonl"});
    std::vector<json> expected;
    for (const auto& file :
         index_tools::find_input_files({(formats / folder).string()}, {"docs*.json", "corpus.jsonl", "documents.jsonl"})
             .files) {
      testing::for_each_line(file.path, [&](const std::string& line) {
        if (!line.empty()) expected.push_back(json::parse(line));
      });
    }
    ASSERT_EQ(read.documents.size(), expected.size()) << folder;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const json& record = expected[i];
      const std::string title = record.value("title", "");
      std::string text =
          record.contains("text") ? record["text"].get<std::string>() : record["contents"].get<std::string>();
      if (!title.empty()) text.insert(0, title + " ");
      EXPECT_EQ(read.documents[i].text, text);
    }
    ++pieces;
  }
  if (pieces == 0) GTEST_SKIP() << "SKIPPED: no JSONL pieces in " << formats;
}

}  // namespace
}  // namespace relucent
