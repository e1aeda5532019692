// Several weighted fields in the first stage: Java Lucene's ranks and bits, on every path, in every state of an index.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/field_lengths.h"
#include "relucent/open_searcher.h"
#include "relucent/rescoring_query_parser.h"
#include "relucent/search_session.h"
#include "relucent/text_query.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;
using Ranks = std::vector<std::string>;  // "ID BITS"

std::vector<std::string> split(const std::string& line, char mark) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, mark);) parts.push_back(part);
  return parts;
}

Config searching(const std::vector<std::string>& fields) {
  Config config;
  config.rescorer.enabled = false;
  config.first_stage.fields = fields;
  return config;
}

IndexBuilder::Options with_texts(const std::vector<std::string>& names) {
  IndexBuilder::Options options;
  options.fields.analyzed_fields = names;
  return options;
}

/// A collection, and an index of it.
class Collection {
 public:
  explicit Collection(const std::filesystem::path& file) {
    for_each_line(file, [&](const std::string& line) { documents.push_back(json::parse(line)); });
  }

  void add_to(IndexBuilder& builder, std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < std::min(last, documents.size()); ++i) {
      json metadata = documents[i];
      metadata.erase("text");
      builder.add(documents[i].at("id").get<std::string>(), documents[i].at("text").get<std::string>(),
                  metadata.dump());
    }
  }

  /// @param state  of tests/goldens/fields
  void write(const std::filesystem::path& folder, const std::string& state) const {
    const auto builder = IndexBuilder::open(folder, IndexBuilder::Mode::create, with_texts({"title", "notes"}));
    constexpr std::size_t segment = 90;
    for (std::size_t i = 0; i < documents.size(); i += segment) {
      add_to(*builder, i, i + segment);
      builder->commit({});
    }
    if (state != "all") {
      for (std::size_t i = 3; i < documents.size(); i += 10) builder->remove(documents[i].at("id").get<std::string>());
    }
    builder->commit({});
    if (state == "deleted10-merged") builder->merge(1);
    builder->close();
  }

  std::vector<json> documents;
};

FirstStageConfig first_stage_of(const std::string& similarity, const std::vector<std::string>& fields) {
  const auto parts = split(similarity, '-');
  FirstStageConfig config;
  config.fields = fields;
  if (parts.at(0) == "qld") {
    config.scoring = FirstStageScoring::qld;
    config.mu = std::stod(parts.at(1));
  } else {
    config.k1 = std::stod(parts.at(1));
    config.b = std::stod(parts.at(2));
  }
  return config;
}

Ranks ranks_of(const boost::shared_ptr<BM25Searcher>& searcher, const TestHits& hits) {
  Ranks ranks;
  for (const TestHit& hit : hits.hits) {
    ranks.push_back(
        fmt::format("{} {:08x}", to_utf8(searcher->getIndexReader()->document(hit.document)->get(L"id")), hit.bits));
  }
  return ranks;
}

TEST(FieldsGolden, RanksAndScoresAreJavaLucenes) {
  RELUCENT_NEEDS(golden_path("fields"));
  std::size_t files = 0, rows = 0, queries = 0;
  for (const std::filesystem::path& file : golden_listing("fields")) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".tsv.gz")) continue;
    SCOPED_TRACE(name);
    ++files;
    // NAME.STATE.SIMILARITY.tsv.gz, in which SIMILARITY may have points.
    const std::string set = name.substr(0, name.find('.'));
    const std::size_t after = set.size() + 1, point = name.find('.', after);
    const std::string state = name.substr(after, point - after);
    const std::string similarity = name.substr(point + 1, name.size() - point - 1 - std::string(".tsv.gz").size());
    std::map<std::string, Ranks> expected;
    for_each_line(file, [&](const std::string& line) {
      const auto parts = split(line, '\t');
      expected[parts.at(0)].push_back(parts.at(1) + " " + parts.at(4));
      ++rows;
    });
    TemporaryFolder folder;
    Collection(file.parent_path() / (set + ".docs.jsonl.gz")).write(folder.path(), state);
    const auto reader = open_reader(folder.path());
    for_each_line(file.parent_path() / (set + ".queries.tsv"), [&](const std::string& line) {
      SCOPED_TRACE(line);
      ++queries;
      const auto parts = split(line, '\t');
      Config config;
      config.first_stage = first_stage_of(similarity, split(parts.at(1), ','));
      const auto query = makeTextQuery(parts.at(2), config);
      for (const std::int32_t count : {kExactCount, 1}) {  // the second skips postings where it can
        config.first_stage.count = count;
        const auto searcher = Lucene::newLucene<BM25Searcher>(reader, config.first_stage, config.index);
        EXPECT_EQ(ranks_of(searcher, search(searcher, query, 50)), expected[parts.at(0)]) << count;
        if (count == kExactCount) {
          EXPECT_EQ(ranks_of(searcher, search_generally(searcher, query, 50)), expected[parts.at(0)]);
        }
      }
    });
  }
  EXPECT_GE(files, 5U);
  std::cout << files << " files, " << queries << " queries, " << rows << " ranks\n";
}

/// The generated collection in an index, with `title` and `notes` as fields.
class Fields : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    collection = std::make_unique<Collection>("tests/goldens/fields/generated.docs.jsonl.gz");
    folder = std::make_unique<TemporaryFolder>();
    collection->write(folder->path() / "index", "deleted10");
  }
  static void TearDownTestSuite() {
    folder.reset();
    collection.reset();
  }
  static std::filesystem::path index() { return folder->path() / "index"; }
  static const std::vector<std::string>& three() {
    static const std::vector<std::string> fields = {"title^3.7", "contents", "notes^0.5"};
    return fields;
  }
  static std::vector<std::string> some_queries() {
    std::vector<std::string> queries;
    for_each_line("tests/goldens/fields/generated.queries.tsv",
                  [&](const std::string& line) { queries.push_back(split(line, '\t').at(2)); });
    return queries;
  }
  static std::vector<std::pair<std::string, double>> hits_of(const SearchSession& session,
                                                             const SearchRequest& request) {
    std::vector<std::pair<std::string, double>> hits;
    for (const SearchHit& hit : session.search(request).hits) hits.emplace_back(hit.id, hit.score);
    return hits;
  }
  static SearchRequest request_for(const std::string& query, std::int32_t hits = 400) {
    SearchRequest request;
    request.query = query;
    request.hits = hits;
    request.texts = HitTexts::none;
    return request;
  }

  inline static std::unique_ptr<Collection> collection;
  inline static std::unique_ptr<TemporaryFolder> folder;
};

TEST_F(Fields, OfARequestReplaceThoseOfTheProfile) {
  const SearchSession by_profile(index(), searching(three()), QuerySyntax::words),
      by_request(index(), searching({}), QuerySyntax::words);
  for (const std::string& query : some_queries()) {
    SearchRequest request = request_for(query);
    const auto expected = hits_of(by_profile, request), contents_alone = hits_of(by_request, request);
    request.search_fields = three();
    EXPECT_EQ(hits_of(by_request, request), expected);
    request.search_fields = {"contents"};
    EXPECT_EQ(hits_of(by_profile, request), contents_alone);
  }
}

TEST_F(Fields, AreSearchedByTheQueryLanguageWhereAQueryNamesNone) {
  const SearchSession words(index(), searching(three()), QuerySyntax::words),
      language(index(), searching(three()), QuerySyntax::lucene), contents(index(), searching({}), QuerySyntax::lucene);
  for (const std::string& query : some_queries()) {
    // There, several terms of one word are a phrase.
    if (query.find_first_of("-'.") != std::string::npos || query.find("中文") != std::string::npos) continue;
    EXPECT_EQ(hits_of(language, request_for(query)), hits_of(words, request_for(query))) << query;
    const std::string named = "title:(" + query + ")^2";
    EXPECT_EQ(hits_of(language, request_for(named)), hits_of(contents, request_for(named))) << query;
  }
  std::set<std::string> any, each;
  const std::string word = "2020";
  for (const auto& hit : hits_of(language, request_for("+" + word))) any.insert(hit.first);
  for (const char* field : {"title:", "contents:", "notes:"}) {
    for (const auto& hit : hits_of(language, request_for(field + word))) each.insert(hit.first);
  }
  EXPECT_EQ(any, each);
  EXPECT_FALSE(any.empty());
  for (const char* query :
       {"202*", "2?20", "2020~0.9", "[2019 TO 2021]", "*:*", "\"2020 2020\"~9", "+(2020) -title:2020"}) {
    EXPECT_NO_THROW(hits_of(language, request_for(query))) << query;
  }
}

TEST_F(Fields, ExplainTheSumOfTheirScores) {
  const SearchSession session(index(), searching(three()), QuerySyntax::words);
  std::size_t explained = 0;
  for (const std::string& query : some_queries()) {
    SearchRequest request = request_for(query, 5);
    request.explain = true;
    for (const SearchHit& hit : session.search(request).hits) {
      ASSERT_TRUE(hit.explanation);
      EXPECT_EQ(static_cast<float>(hit.explanation->value), static_cast<float>(hit.score));
      ++explained;
    }
  }
  EXPECT_GT(explained, 100U);
}

TEST_F(Fields, ArePagedAndFilteredLikeOne) {
  IndexBuilder::Options options = with_texts({"title", "notes"});
  options.fields.keyword_fields = {"parity"};
  {
    const auto builder = IndexBuilder::open(folder->path() / "filtered", IndexBuilder::Mode::create, options);
    for (std::size_t i = 0; i < collection->documents.size(); ++i) {
      json metadata = collection->documents[i];
      metadata["parity"] = i % 2 == 0 ? "even" : "odd";
      builder->add(metadata["id"].get<std::string>(), metadata["text"].get<std::string>(), metadata.dump());
    }
    builder->close();
  }
  const SearchSession session(folder->path() / "filtered", searching(three()), QuerySyntax::words);
  for (const std::string& query : some_queries()) {
    const auto all = hits_of(session, request_for(query));
    SearchRequest page = request_for(query, 7);
    page.offset = 5;
    auto expected = all;
    expected.resize(std::min<std::size_t>(12, expected.size()));
    expected.erase(expected.begin(), expected.begin() + std::min<std::ptrdiff_t>(5, std::ssize(expected)));
    EXPECT_EQ(hits_of(session, page), expected);
    SearchRequest odd = request_for(query);
    odd.filter = R"({"parity": "odd"})";
    auto filtered = all;
    std::erase_if(filtered, [](const auto& hit) { return std::stoi(hit.first.substr(1)) % 2 == 0; });
    EXPECT_EQ(hits_of(session, odd), filtered);
    EXPECT_EQ(session.search(odd).total_hits, std::ssize(filtered));
  }
}

TEST_F(Fields, OfShardsScoreLikeThoseOfOneIndex) {
  const std::size_t half = collection->documents.size() / 3;
  std::vector<std::filesystem::path> parts = {folder->path() / "whole", folder->path() / "a", folder->path() / "b"};
  const std::pair<std::size_t, std::size_t> ranges[] = {{0, 1000}, {0, half}, {half, 1000}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto builder = IndexBuilder::open(parts[i], IndexBuilder::Mode::create, with_texts({"title", "notes"}));
    collection->add_to(*builder, ranges[i].first, ranges[i].second);
    builder->close();
  }
  const SearchSession whole(parts[0], searching(three()), QuerySyntax::words),
      a(parts[1], searching({}), QuerySyntax::words), b(parts[2], searching({}), QuerySyntax::words);
  for (const std::string& query : some_queries()) {
    CollectionStatistics sum = a.statistics(query, three());
    sum += b.statistics(query, three());
    SearchRequest request = request_for(query);
    request.search_fields = three();
    request.statistics = sum;
    std::map<std::string, double> expected, actual;
    if (sum.fields.empty()) continue;  // no words
    EXPECT_EQ(sum.fields.size(), 3U);
    for (const auto& [id, score] : hits_of(whole, request_for(query))) expected[id] = score;
    for (const SearchSession* part : {&a, &b}) {
      for (const auto& [id, score] : hits_of(*part, request)) actual[id] = score;
    }
    EXPECT_EQ(actual, expected) << query;
  }
}

/// What an index records of its analyzed fields is what its postings have.
void expect_recorded_totals(const std::filesystem::path& index) {
  const auto reader = open_reader(index);
  const auto data = commit_data_of(reader, index.string());
  ASSERT_TRUE(data);
  const auto leaves = bm25::leaf_readers(reader);
  EXPECT_EQ(data->segments, bm25::segments_identity(leaves));
  ASSERT_EQ(data->analyzed.size(), data->fields.analyzed_fields.size());
  for (std::size_t i = 0; i < data->analyzed.size(); ++i) {
    const Lucene::String field = to_lucene(data->fields.analyzed_fields[i]);
    const auto counted = bm25::count_lengths(leaves, field);
    EXPECT_EQ(data->analyzed[i], counted.statistics) << data->fields.analyzed_fields[i];
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const auto norms = leaves[leaf]->norms(field);
      const auto& bytes = counted.leaves[leaf];
      if (bytes.empty()) continue;  // no document of the leaf has the field
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), norms.get())) << leaf;
    }
  }
}

TEST_F(Fields, AreCountedThroughUpdatesDeletionsAndMerges) {
  const std::filesystem::path changing = folder->path() / "changing";
  std::mt19937 random(17);
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    IndexBuilder::Options options = round == 0 ? with_texts({"title", "notes"}) : IndexBuilder::Options();
    options.metadata = true;
    options.threads = 1 + round % 3;
    options.buffer_mb = round % 2 == 0 ? 1 : 256;
    const auto builder =
        IndexBuilder::open(changing, round == 0 ? IndexBuilder::Mode::create : IndexBuilder::Mode::append, options);
    for (int change = 0; change < 60; ++change) {
      const std::size_t i = random() % collection->documents.size();
      builder->remove(collection->documents[i].at("id").get<std::string>());
      if (random() % 4 != 0) collection->add_to(*builder, i, i + 1);
      if (random() % 15 == 0) builder->commit({});
    }
    builder->commit({});
    if (round % 4 == 3) builder->merge(1 + round % 2);
    builder->close();
    expect_recorded_totals(changing);
  }
}

TEST_F(Fields, OfAnotherProgramsIndexAreSearchedAlike) {
  using Lucene::AbstractField;
  const auto writer = stock_writer(folder->path() / "stock", true);
  for (const json& document : collection->documents) {
    const auto made = Lucene::newLucene<Lucene::Document>();
    const auto add = [&](const char* name, const json& text, AbstractField::Index indexed) {
      made->add(Lucene::newLucene<Lucene::Field>(to_lucene(name), to_lucene(text.get<std::string>()),
                                                 AbstractField::STORE_YES, indexed));
    };
    add("id", document["id"], AbstractField::INDEX_NOT_ANALYZED);
    add("contents", document["text"], AbstractField::INDEX_ANALYZED);
    for (const char* name : {"title", "notes"}) {
      if (!document.contains(name)) continue;
      for (const json& text : document[name].is_array() ? document[name] : json::array({document[name]})) {
        add(name, text, AbstractField::INDEX_ANALYZED);
      }
    }
    writer->addDocument(made);
  }
  writer->close();
  collection->write(folder->path() / "ours", "all");
  const SearchSession stock(folder->path() / "stock", searching(three()), QuerySyntax::words),
      ours(folder->path() / "ours", searching(three()), QuerySyntax::words);
  for (const std::string& query : some_queries()) {
    EXPECT_EQ(hits_of(stock, request_for(query)), hits_of(ours, request_for(query))) << query;
  }
}

TEST_F(Fields, ThatCannotBeSearchedAreErrorsThatListTheOthers) {
  IndexBuilder::Options options = with_texts({"title"});
  options.fields.keyword_fields = {"lang"};
  options.fields.number_fields = {"year"};
  const std::filesystem::path place = folder->path() / "declared";
  {
    const auto builder = IndexBuilder::open(place, IndexBuilder::Mode::create, options);
    builder->add("1", "text", R"({"title": "words", "lang": "de", "year": 1})");
    builder->close();
  }
  const SearchSession session(place, searching({}), QuerySyntax::words);
  for (const char* field : {"lang", "year", "id", "absent", "text", "relucent.metadata"}) {
    const std::vector<std::string> named = {fmt::format("\"{}\"", field), "contents, title", "--text"};
    expect_error(ErrorKind::usage, named, [&] { SearchSession(place, searching({field}), QuerySyntax::words); });
    expect_error(ErrorKind::usage, named, [&] { openSearcher(place, searching({"contents", field})); });
    SearchRequest request = request_for("words");
    request.search_fields = {"title", field};
    expect_error(ErrorKind::usage, named, [&] { session.search(request); });
    expect_error(ErrorKind::usage, named, [&] { session.statistics("words", {field}); });
  }
  for (const char* field : {"title^0", "title^-1", "title^nan", "title^inf", "title^", "title^2x", "title^1e7", "^2",
                            "", "title^0x2", "title^ 2", "title^1e-7", "title^1e60"}) {
    SearchRequest request = request_for("words");
    request.search_fields = {field};
    expect_error(ErrorKind::usage, {"search_fields", "weight"}, [&] { session.search(request); });
    expect_error(ErrorKind::usage, "fields", [&] { SearchSession(place, searching({field}), QuerySyntax::words); });
  }
  SearchRequest request = request_for("words");
  request.search_fields = {"title^2", "title"};
  expect_error(ErrorKind::usage, {"\"title\"", "twice"}, [&] { session.search(request); });
  expect_error(ErrorKind::usage, "fields", [&] {
    SearchSession(place, searching({"title", "title^2"}), QuerySyntax::words);
  });
  Config expanding = searching({"contents", "title"});
  expanding.first_stage.rm3 = true;
  expect_error(ErrorKind::usage, "rm3", [&] { SearchSession(place, expanding, QuerySyntax::words); });
  expanding.first_stage.fields = {};
  request.search_fields = {"title"};
  expect_error(ErrorKind::usage, {"search_fields", "rm3"},
               [&] { SearchSession(place, expanding, QuerySyntax::words).search(request); });
  request.search_fields = {"contents^2"};
  EXPECT_NO_THROW(SearchSession(place, expanding, QuerySyntax::words).search(request));
  request = request_for("text");
  request.filter = R"({"title": "words"})";
  expect_error(ErrorKind::usage, {"\"title\"", "text"}, [&] { session.search(request); });
  request.filter = {};
  request.facets = {"title"};
  expect_error(ErrorKind::usage, {"\"title\"", "text"}, [&] { session.search(request); });
}

TEST_F(Fields, HaveStringsAloneAndAreDeclaredOnce) {
  TemporaryFolder own;
  const auto builder = IndexBuilder::open(own.path() / "a", IndexBuilder::Mode::create, with_texts({"title"}));
  for (const char* value : {"1", "true", "{}", "[1]", "[\"a\", {}]", "[[\"a\"]]"}) {
    expect_error(ErrorKind::invalid_data, {"document \"bad\"", "\"title\""},
                 [&] { builder->add("bad", "x", fmt::format(R"({{"title": {}}})", value)); });
  }
  for (const char* value : {"null", "[]", "\"\"", "[null, \"a\"]"}) {
    EXPECT_NO_THROW(builder->add("good", "x", fmt::format(R"({{"title": {}}})", value)));
  }
  builder->close();
  expect_recorded_totals(own.path() / "a");
  expect_error(ErrorKind::usage, {"title", "notes"},
               [&] { IndexBuilder::open(own.path() / "a", IndexBuilder::Mode::append, with_texts({"notes"})); });
  IndexBuilder::Options twice = with_texts({"title"});
  twice.fields.keyword_fields = {"title"};
  expect_error(ErrorKind::usage, "title",
               [&] { IndexBuilder::open(own.path() / "b", IndexBuilder::Mode::create, twice); });
  expect_error(ErrorKind::usage, "contents",
               [&] { IndexBuilder::open(own.path() / "c", IndexBuilder::Mode::create, with_texts({"contents"})); });
}

TEST_F(Fields, AreRecordedSoThatEarlierVersionsRefuseTheIndex) {
  const auto format = [](const std::filesystem::path& place) {
    return to_utf8(open_reader(place)->getCommitUserData().get(L"relucent.format"));
  };
  EXPECT_EQ(format(index()), "2");
  TemporaryFolder own;
  write_own(own.path(), {{"1", "text"}}, 1);
  EXPECT_EQ(format(own.path()), "1");
}

}  // namespace
}  // namespace relucent::testing
