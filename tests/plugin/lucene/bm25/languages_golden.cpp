// Indexes in other languages: BM25's ranks against Java Lucene's, and the language that an index records.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "relucent/english_analyzer.h"
#include "relucent/index_reader.h"
#include "relucent/open_searcher.h"
#include "relucent/search_session.h"
#include "relucent/searcher_manager.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

Config bm25_alone() {
  Config config;
  config.rescorer.enabled = false;
  return config;
}

IndexBuilder::Options options_for(AnalyzerKind language) {
  IndexBuilder::Options options;
  options.fields.language = language;
  return options;
}

std::vector<std::string> fields_of_line(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  return fields;
}

TEST(LanguagesBM25Golden, RanksAndScoresAreJavaLucenes) {
  RELUCENT_NEEDS(golden_path("languages"));
  std::size_t collections = 0, rows = 0;
  for (const std::filesystem::path& file : golden_listing("languages")) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".docs.jsonl.gz")) continue;
    SCOPED_TRACE(name);
    ++collections;
    const std::string prefix = name.substr(0, name.size() - std::string_view(".docs.jsonl.gz").size());
    const std::string language = name.substr(0, name.find('.'));
    std::vector<TestDocument> documents;
    for_each_line(file, [&](const std::string& line) {
      const json document = json::parse(line);
      documents.push_back({document.at("id"), document.at("text")});
    });
    std::map<std::string, std::vector<std::string>> expected;
    for_each_line(file.parent_path() / (prefix + ".k0.9-b0.4.tsv.gz"), [&](const std::string& line) {
      const auto fields = fields_of_line(line);
      expected[fields.at(0)].push_back(fields.at(1) + " " + fields.at(4));
      ++rows;
    });
    TemporaryFolder folder;
    write_own(folder.path(), documents, 70, options_for(analyzer_from(language).value()));
    const SearchSession session(folder.path(), bm25_alone(), QuerySyntax::words);  // follows the index
    for_each_line(file.parent_path() / (prefix + ".queries.tsv"), [&](const std::string& line) {
      const auto fields = fields_of_line(line);
      std::vector<std::string> actual;
      for (const SearchHit& hit : session.search(fields.at(1), 100, HitTexts::none).hits) {
        actual.push_back(fmt::format("{} {:08x}", hit.id, std::bit_cast<std::uint32_t>(static_cast<float>(hit.score))));
      }
      EXPECT_EQ(actual, expected[fields.at(0)]) << line;
    });
  }
  EXPECT_GE(collections, 2U);
  std::cout << collections << " collections, " << rows << " ranks\n";
}

class GermanIndex : public ::testing::Test {
 protected:
  GermanIndex() {
    write_own(folder.path(), {{"haus", "Die Häuser der Stadt"}, {"auto", "Ein Auto in der Garage"}}, 10,
              options_for(AnalyzerKind::german));
  }
  std::vector<std::string> found(const SearchSession& session, const std::string& query) const {
    std::vector<std::string> ids;
    const SearchResult result = session.search(query, 10, HitTexts::none);
    EXPECT_EQ(result.analyzer, AnalyzerKind::german);
    for (const SearchHit& hit : result.hits) ids.push_back(hit.id);
    return ids;
  }
  TemporaryFolder folder;
  const std::vector<std::string> haus{"haus"};
};

TEST_F(GermanIndex, IsSearchedInItsLanguageWithoutBeingTold) {
  EXPECT_EQ(found(SearchSession(folder.path(), bm25_alone(), QuerySyntax::words), "hauses"), haus);
  EXPECT_EQ(found(SearchSession(folder.path(), bm25_alone(), QuerySyntax::lucene), "+hauses"), haus);
  SearcherManager manager(folder.path(), bm25_alone());
  EXPECT_EQ(found(SearchSession(manager.acquire(), "index", QuerySyntax::words), "hauses"), haus);
  Config named = bm25_alone();
  named.index.language = AnalyzerKind::german;
  EXPECT_EQ(found(SearchSession(folder.path(), named, QuerySyntax::words), "hauses"), haus);
}

TEST_F(GermanIndex, AnotherLanguageIsAnErrorThatNamesBoth) {
  Config named = bm25_alone();
  named.index.language = AnalyzerKind::french;
  for (const char* language : {"\"german\"", "\"french\""}) {
    expect_error(ErrorKind::usage, language, [&] { SearchSession(folder.path(), named, QuerySyntax::words); });
    expect_error(ErrorKind::usage, language, [&] { SearcherManager(folder.path(), named); });
    expect_error(ErrorKind::usage, language, [&] { openSearcher(folder.path(), named); });
  }
  named.index.language = AnalyzerKind::english;
  expect_error(ErrorKind::usage, "\"german\"", [&] { SearchSession(folder.path(), named, QuerySyntax::words); });
  Config by_analyzer = bm25_alone();
  by_analyzer.first_stage.analyzer = AnalyzerKind::whitespace;
  expect_error(ErrorKind::usage, "\"german\"", [&] { SearchSession(folder.path(), by_analyzer, QuerySyntax::words); });
  // A host that analyzes queries itself has to name the language.
  expect_error(ErrorKind::usage, "\"german\"", [&] { openSearcher(folder.path(), bm25_alone()); });
}

TEST_F(GermanIndex, HostsTakeItsProfile) {
  const Config own = config_of_index(open_reader(folder.path()), bm25_alone());
  EXPECT_EQ(own.first_stage.analyzer, AnalyzerKind::german);
  const auto searcher = openSearcher(folder.path(), own);
  EXPECT_EQ(searcher->search(makeTextQuery("hauses", own), 10)->totalHits, 1);
  Lucene::QueryParser parser(Lucene::LuceneVersion::LUCENE_30, L"contents", make_analyzer(own));
  EXPECT_EQ(searcher->search(parser.parse(L"hauses"), 10)->totalHits, 1);
}

TEST_F(GermanIndex, IsContinuedInItsLanguageAlone) {
  expect_error(ErrorKind::usage, "german", [&] {
    IndexBuilder::open(folder.path(), IndexBuilder::Mode::append, options_for(AnalyzerKind::dutch));
  });
  const auto builder = IndexBuilder::open(folder.path(), IndexBuilder::Mode::append, options_for(AnalyzerKind::german));
  builder->add("neu", "noch zwei Häusern");
  builder->close();
  EXPECT_EQ(found(SearchSession(folder.path(), bm25_alone(), QuerySyntax::words), "haus").size(), 2U);
}

TEST(LanguageIndexes, KeepEmptyTerms) {
  // A lone tatweel is a word of which the normalization of Arabic leaves nothing.
  TemporaryFolder folder;
  write_own(folder.path(), {{"1", "\xD9\x80 كتاب"}, {"2", "كتاب"}}, 10, options_for(AnalyzerKind::arabic));
  const SearchSession session(folder.path(), bm25_alone(), QuerySyntax::words);
  EXPECT_EQ(session.search("الكتاب", 10, HitTexts::none).hits.size(), 2U);
  EXPECT_EQ(session.search("\xD9\x80", 10, HitTexts::none).hits.size(), 1U);
}

}  // namespace
}  // namespace relucent::testing
