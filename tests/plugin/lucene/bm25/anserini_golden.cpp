// Query likelihood and RM3 against Anserini: documents, order and float bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "relucent/error.h"
#include "relucent/text_query.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

struct Row {
  std::string document;
  std::uint32_t bits;
  bool operator==(const Row&) const = default;
};
using Rows = std::map<std::string, std::vector<Row>>;

/// In the order of ids, in which Anserini puts hits of equal scores.
std::vector<TestDocument> cranfield() {
  std::vector<TestDocument> documents;
  for_each_line(golden_path("bm25/cranfield.docs.jsonl.gz"), [&](const std::string& line) {
    const json document = json::parse(line);
    documents.push_back({document.at("id"), document.at("text")});
  });
  std::ranges::sort(documents, {}, &TestDocument::id);
  return documents;
}

std::map<std::string, std::string> cranfield_queries() {
  std::map<std::string, std::string> queries;
  for_each_line(golden_path("bm25/cranfield.queries.tsv"), [&](const std::string& line) {
    const std::size_t tab = line.find('\t');
    queries[line.substr(0, tab)] = line.substr(tab + 1);
  });
  return queries;
}

Rows read_rows(const std::filesystem::path& file) {
  Rows rows;
  for_each_line(file, [&](const std::string& line) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    rows[line.substr(0, first)].push_back(
        {line.substr(first + 1, second - first - 1),
         static_cast<std::uint32_t>(std::stoul(line.substr(second + 1), nullptr, 16))});
  });
  return rows;
}

/// The settings in the name of a golden file, as its make.py writes them.
FirstStageConfig settings_of(const std::string& name) {
  static const std::regex pattern(
      R"(cranfield\.(bm25|qld|qljm)(?:-([0-9.]+?))?(?:\.rm3-(\d+)-(\d+)-([0-9.]+?))?\.tsv\.gz)");
  std::smatch parts;
  if (!std::regex_match(name, parts, pattern)) throw std::runtime_error("unknown settings: " + name);
  FirstStageConfig config;
  if (parts[1] == "qld") {
    config.scoring = FirstStageScoring::qld;
    config.mu = std::stod(parts[2]);
  } else if (parts[1] == "qljm") {
    config.scoring = FirstStageScoring::qljm;
    config.lambda = std::stod(parts[2]);
  }
  config.rm3 = parts[3].matched;
  if (config.rm3) {
    config.rm3_terms = std::stoi(parts[3]);
    config.rm3_documents = std::stoi(parts[4]);
    config.rm3_original_weight = std::stod(parts[5]);
  }
  return config;
}

std::size_t compare(const std::filesystem::path& index, const std::filesystem::path& golden) {
  const FirstStageConfig settings = settings_of(golden.filename().string());
  const auto searcher = Lucene::newLucene<BM25Searcher>(open_reader(index), settings, IndexConfig{});
  const std::map<std::string, std::string> queries = cranfield_queries();
  std::size_t compared = 0;
  for (const auto& [query, wanted] : read_rows(golden)) {
    const Lucene::QueryPtr words = makeTextQuery(queries.at(query), Config());
    for (const bool general : {false, true}) {
      const TestHits found = general ? search_generally(searcher, words, static_cast<std::int32_t>(wanted.size()))
                                     : search(searcher, words, static_cast<std::int32_t>(wanted.size()));
      std::vector<Row> rows;
      for (const auto& hit : found.hits) rows.push_back({*stored_text(searcher->doc(hit.document), "id"), hit.bits});
      EXPECT_EQ(rows.size(), wanted.size()) << query;
      for (std::size_t i = 0; i < std::min(rows.size(), wanted.size()); ++i) {
        EXPECT_TRUE(rows[i] == wanted[i])
            << "query " << query << (general ? ", generally" : "") << ", rank " << i + 1 << ": " << rows[i].document
            << " " << std::hex << rows[i].bits << ", not " << wanted[i].document << " " << wanted[i].bits;
        ++compared;
      }
    }
  }
  return compared;
}

class AnseriniGolden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(AnseriniGolden, OwnIndex) {
  const TemporaryFolder index;
  write_own(index.path(), cranfield(), 1400);
  std::cout << compare(index.path(), GetParam()) << " scores compared, by two paths\n";
}

TEST_P(AnseriniGolden, IndexOfAnotherProgramOfSevenSegments) {
  const TemporaryFolder index;
  write_stock(index.path(), cranfield(), 200);
  std::cout << compare(index.path(), GetParam()) << " scores compared, by two paths\n";
}

std::vector<std::filesystem::path> goldens() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : golden_listing("anserini")) {
    if (file.extension() == ".gz") files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

INSTANTIATE_TEST_SUITE_P(Settings, AnseriniGolden, ::testing::ValuesIn(goldens()), [](const auto& test) {
  std::string name = test.param.filename().string();
  name.resize(name.find(".tsv"));
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

FirstStageConfig with_rm3() {
  FirstStageConfig config;
  config.rm3 = true;
  return config;
}

boost::shared_ptr<BM25Searcher> open_with(const std::filesystem::path& index, const FirstStageConfig& config,
                                          const IndexConfig& fields = {}) {
  return Lucene::newLucene<BM25Searcher>(open_reader(index), config, fields);
}

TEST(QueryLikelihood, DocumentsOfScoreZeroAreHitsByBothPaths) {
  // A document with a long text and one frequent word scores below zero, which counts as zero.
  std::vector<TestDocument> documents;
  for (int i = 0; i < 20; ++i) documents.push_back({"d" + std::to_string(i), "word word word word"});
  std::string text = "word";
  for (int i = 0; i < 300; ++i) text += " other" + std::to_string(i);
  documents.push_back({"long", text});
  const TemporaryFolder index;
  write_own(index.path(), documents, 7);
  FirstStageConfig config;
  config.scoring = FirstStageScoring::qld;
  config.mu = 10;
  const auto searcher = open_with(index.path(), config);
  const auto query = makeTextQuery("word", Config());
  const TestHits fast = search(searcher, query, 100), general = search_generally(searcher, query, 100);
  ASSERT_EQ(fast.hits.size(), 21U);
  EXPECT_EQ(fast.hits.back().bits, 0U);
  ASSERT_EQ(general.hits.size(), fast.hits.size());
  for (std::size_t i = 0; i < fast.hits.size(); ++i) {
    EXPECT_EQ(fast.hits[i].document, general.hits[i].document);
    EXPECT_EQ(fast.hits[i].bits, general.hits[i].bits);
  }
}

TEST(QueryLikelihood, AnExplanationHasTheScore) {
  const TemporaryFolder index;
  write_own(index.path(), some_documents(30), 30);
  for (const auto scoring : {FirstStageScoring::qld, FirstStageScoring::qljm}) {
    FirstStageConfig config;
    config.scoring = scoring;
    const auto searcher = open_with(index.path(), config);
    const auto query = makeTextQuery("number3 words", Config());
    const TestHits found = search(searcher, query, 5);
    ASSERT_FALSE(found.hits.empty());
    const auto explained = searcher->explain(query, found.hits[0].document);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(explained->getValue())), found.hits[0].bits);
    EXPECT_NE(to_utf8(explained->toString()).find(scoring == FirstStageScoring::qld ? "mu" : "lambda"),
              std::string::npos);
  }
}

TEST(Rm3, NeedsStoredTexts) {
  const TemporaryFolder index;
  write_own(index.path(), some_documents(30), 30);
  IndexConfig fields;
  fields.text_field = "elsewhere";
  const auto searcher = open_with(index.path(), with_rm3(), fields);
  try {
    search(searcher, makeTextQuery("number3", Config()), 5);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("elsewhere"), std::string::npos) << error.what();
  }
}

TEST(Rm3, AndLikelihoodsRefuseStatisticsOfShards) {
  const TemporaryFolder index;
  write_own(index.path(), some_documents(30), 30);
  FirstStageConfig likelihood;
  likelihood.scoring = FirstStageScoring::qld;
  for (const FirstStageConfig& config : {with_rm3(), likelihood}) {
    const auto searcher = open_with(index.path(), config);
    const auto query = makeTextQuery("number3", Config());
    EXPECT_THROW(searcher->statistics_of(query), Error);
    const CollectionStatistics statistics = open_bm25(index.path())->statistics_of(query);
    EXPECT_THROW(searcher->makeWeight(query, &statistics), Error);
  }
}

TEST(Rm3, LeavesQueriesWithOperatorsAsTheyAre) {
  const TemporaryFolder index;
  write_own(index.path(), some_documents(30), 30);
  const auto required = Lucene::newLucene<Lucene::BooleanQuery>();
  for (const wchar_t* word : {L"number3", L"common"}) {
    required->add(Lucene::newLucene<Lucene::TermQuery>(Lucene::newLucene<Lucene::Term>(L"contents", word)),
                  Lucene::BooleanClause::MUST);
  }
  const TestHits expanded = search(open_with(index.path(), with_rm3()), required, 30),
                 plain = search(open_bm25(index.path()), required, 30);
  ASSERT_EQ(expanded.hits.size(), plain.hits.size());
  for (std::size_t i = 0; i < plain.hits.size(); ++i) EXPECT_EQ(expanded.hits[i].bits, plain.hits[i].bits);
}

}  // namespace
}  // namespace relucent::testing
