// Metadata, filters and facets against brute force and against Lucene++'s own writer and filters.
#include <FieldCacheTermsFilter.h>
#include <NumericField.h>
#include <NumericRangeFilter.h>
#include <NumericUtils.h>
#include <SerialMergeScheduler.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "plugin/index_format/analysis/english_terms.h"
#include "plugin/index_format/fields/declared_fields.h"
#include "plugin/index_format/fields/number_terms.h"
#include "plugin/index_format/segment/segment_writer.h"
#include "plugin/lucene/analysis/chain_token_stream.h"
#include "plugin/lucene/bm25/similarity.h"
#include "relucent/error.h"
#include "relucent/field_filter.h"
#include "relucent/search_session.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct FieldDocument {
  std::string id, text;
  json metadata = json::object();
};

IndexConfig declared() {
  IndexConfig config;
  config.keyword_fields = {"lang", "source"};
  config.number_fields = {"year", "aaa"};  // before and after the other fields' names
  return config;
}

std::vector<FieldDocument> random_documents(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  const auto one_of = [&](const std::vector<std::string>& values) { return values[random() % values.size()]; };
  const std::vector<std::string> languages = {"de", "en", "fr", "", "zh\u4e2d", std::string("a\0b", 3), "d\"e\\"};
  std::vector<FieldDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    FieldDocument document{"d" + std::to_string(i), "all", {}};
    document.metadata = json::object();
    for (std::size_t words = random() % 6; words > 0; --words) {
      document.text += " word" + std::to_string(random() % 20);
    }
    if (random() % 10 != 0) document.metadata["lang"] = one_of(languages);
    if (random() % 3 == 0) {
      document.metadata["source"] = json::array();
      for (std::size_t n = random() % 4; n > 0; --n) {
        document.metadata["source"].push_back("s" + std::to_string(random() % 50));
      }
    }
    if (random() % 20 == 0) document.metadata["source"] = nullptr;
    if (random() % 5 != 0) document.metadata["year"] = 1990 + static_cast<int>(random() % 40);
    if (random() % 4 == 0) {
      const std::vector<json> numbers = {0.0,       -0.0, 0.5, -1.25,  9007199254740992LL, -9007199254740992LL,
                                         0x1p-1022, 1e15, -7,  1e-300, 4294967296LL,       2.5};
      document.metadata["aaa"] = json::array({numbers[random() % numbers.size()], numbers[random() % numbers.size()]});
    }
    document.metadata["other"] = {{"nested", i}, {"list", {1, "two", nullptr}}};
    documents.push_back(std::move(document));
  }
  return documents;
}

void write(const fs::path& folder, const std::vector<FieldDocument>& documents, std::size_t segment,
           IndexBuilder::Mode mode = IndexBuilder::Mode::create, const IndexConfig& fields = declared()) {
  IndexBuilder::Options options;
  options.fields = fields;
  options.metadata = true;
  const auto builder = IndexBuilder::open(folder, mode, options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    builder->add(documents[i].id, documents[i].text, documents[i].metadata.dump());
    if ((i + 1) % segment == 0) builder->commit({});
  }
  builder->close();
}

Config bm25_config() {
  Config config;
  config.rescorer.enabled = false;
  return config;
}

// Brute force, by JSON alone.

std::vector<json> values_of(const json& metadata, const std::string& key) {
  if (!metadata.contains(key) || metadata[key].is_null()) return {};
  if (metadata[key].is_array()) return metadata[key].get<std::vector<json>>();
  return {metadata[key]};
}

bool within(const json& value, const json& bounds) {
  const double number = value.get<double>();
  for (const auto& [name, bound] : bounds.items()) {
    const double limit = bound.get<double>();
    const bool holds = name == "gt"    ? number > limit
                       : name == "gte" ? number >= limit
                       : name == "lt"  ? number < limit
                                       : number <= limit;
    if (!holds) return false;
  }
  return true;
}

bool meets(const json& metadata, const json& filter) {
  for (const auto& [key, wanted] : filter.items()) {
    const std::vector<json> values = values_of(metadata, key);
    const bool met = std::ranges::any_of(values, [&](const json& value) {
      if (wanted.is_object()) return within(value, wanted);
      if (wanted.is_array()) return std::ranges::find(wanted, value) != wanted.end();
      return value == wanted;
    });
    if (!met) return false;
  }
  return true;
}

bool contains_word(const std::string& text, const std::string& word) {
  return (" " + text + " ").find(" " + word + " ") != std::string::npos;
}

json random_filter(std::mt19937& random, const std::vector<FieldDocument>& documents) {
  json filter = json::object();
  const auto some_value = [&](const std::string& key) -> json {
    for (int trial = 0; trial < 50; ++trial) {
      const auto values = values_of(documents[random() % documents.size()].metadata, key);
      if (!values.empty()) return values[random() % values.size()];
    }
    return nullptr;
  };
  for (const std::string key : {"lang", "source"}) {
    const auto kind = random() % 4;
    if (kind == 0) filter[key] = random() % 8 == 0 ? json("absent") : some_value(key);
    if (kind == 1) {
      filter[key] = json::array();
      for (std::size_t n = 1 + random() % 4; n > 0; --n) filter[key].push_back(some_value(key));
    }
  }
  for (const std::string key : {"year", "aaa"}) {
    const auto kind = random() % 6;
    if (kind == 0) filter[key] = some_value(key);
    if (kind == 1) filter[key] = json::array({some_value(key), some_value(key), 12345});
    if (kind == 2 || kind == 3) {
      filter[key] = json::object();
      if (random() % 3 != 0) filter[key][random() % 2 == 0 ? "gt" : "gte"] = some_value(key);
      if (random() % 3 != 0 || filter[key].empty()) filter[key][random() % 2 == 0 ? "lt" : "lte"] = some_value(key);
      if (kind == 3) {
        for (auto& [name, bound] : filter[key].items()) bound = bound.get<double>() + (random() % 2 == 0 ? 0.25 : -1);
        for (auto& [name, bound] : filter[key].items()) {
          if (std::abs(bound.get<double>()) > 0x1p53) bound = 0;
        }
      }
    }
  }
  return filter;
}

/// The documents that a search finds are those that contain the word and meet the filter, with the scores that they
/// have without it; the facets count them.
void expect_brute_force(const SearchSession& session, const std::vector<FieldDocument>& documents,
                        const std::set<std::string>& deleted, const std::string& word, const json& filter) {
  SearchRequest request;
  request.query = word;
  request.hits = static_cast<std::int32_t>(documents.size());
  request.texts = HitTexts::none;
  std::map<std::string, double> all;
  for (const SearchHit& hit : session.search(request).hits) all[hit.id] = hit.score;
  request.filter = filter.dump();
  request.facets = {"source", "lang"};
  const SearchResult result = session.search(request);
  std::map<std::string, double> found, expected;
  std::map<std::string, std::map<std::string, std::int64_t>> counts = {{"source", {}}, {"lang", {}}};
  for (const SearchHit& hit : result.hits) found[hit.id] = hit.score;
  for (const FieldDocument& document : documents) {
    if (deleted.contains(document.id) || !contains_word(document.text, word)) continue;
    ASSERT_TRUE(all.contains(document.id));
    if (!meets(document.metadata, filter)) continue;
    expected[document.id] = all[document.id];
    for (auto& [key, of_key] : counts) {
      std::set<std::string> once;
      for (const json& value : values_of(document.metadata, key)) once.insert(value.get<std::string>());
      for (const std::string& value : once) ++of_key[value];
    }
  }
  EXPECT_EQ(found, expected) << filter;
  EXPECT_EQ(result.total_hits, static_cast<std::int64_t>(expected.size())) << filter;
  ASSERT_EQ(result.facets.size(), 2U);
  for (const FacetCounts& facet : result.facets) {
    std::map<std::string, std::int64_t> counted;
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const auto& [value, number] : facet.values) {
      counted[value] = number;
      EXPECT_LE(number, before);
      before = number;
    }
    EXPECT_EQ(counted, counts[facet.key]) << facet.key << " " << filter;
    EXPECT_EQ(facet.all_values, static_cast<std::int64_t>(counted.size()));
  }
}

Lucene::IndexWriterPtr open_writer(const fs::path& folder) {
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                                             Lucene::newLucene<EnglishAnalyzer>(), false,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
  writer->setSimilarity(Lucene::newLucene<bm25::BM25Similarity>());
  return writer;
}

void delete_documents(const fs::path& folder, const std::set<std::string>& ids) {
  const auto writer = open_writer(folder);
  for (const std::string& id : ids) {
    writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene(id)));
  }
  writer->close();
}

TEST(FieldFilters, EqualBruteForceAlsoAfterDeletionsAndMerges) {
  constexpr int filters = 2500;  // in each of the four states of the index
  TemporaryFolder folder;
  const auto documents = random_documents(700, 11);
  write(folder / "index", documents, 190);
  std::mt19937 random(5);
  std::set<std::string> deleted;
  const auto try_filters = [&](const char* state) {
    SCOPED_TRACE(state);
    const SearchSession session(folder / "index", bm25_config(), QuerySyntax::words);
    for (int i = 0; i < filters && !::testing::Test::HasFailure(); ++i) {
      const std::string word = random() % 2 == 0 ? "all" : "word" + std::to_string(random() % 20);
      expect_brute_force(session, documents, deleted, word, random_filter(random, documents));
    }
  };
  try_filters("four segments");
  for (const FieldDocument& document : documents) {
    if (random() % 4 == 0) deleted.insert(document.id);
  }
  delete_documents(folder / "index", deleted);
  try_filters("with deletions");
  const auto writer = open_writer(folder / "index");
  writer->optimize();
  writer->close();
  try_filters("merged by Lucene++");
  deleted.clear();
  write(folder / "again", documents, 190);
  {
    IndexBuilder::Options options;  // an index keeps its declared fields
    const auto builder = IndexBuilder::open(folder / "again", IndexBuilder::Mode::append, options);
    builder->merge(1);
    builder->close();
  }
  const SearchSession merged(folder / "again", bm25_config(), QuerySyntax::words);
  for (int i = 0; i < filters && !::testing::Test::HasFailure(); ++i) {
    expect_brute_force(merged, documents, deleted, "all", random_filter(random, documents));
  }
}

TEST(FieldFilters, HoldForQueriesThatAreNoListsOfWords) {
  TemporaryFolder folder;
  const auto documents = random_documents(300, 3);
  write(folder / "index", documents, 100);
  const SearchSession session(folder / "index", bm25_config(), QuerySyntax::lucene);
  std::mt19937 random(8);
  for (int i = 0; i < 100; ++i) {
    const json filter = random_filter(random, documents);
    SearchRequest request;
    request.query = "+all +(word1 word2 word3)";
    request.hits = 300;
    request.filter = filter.dump();
    request.facets = {"lang"};
    const SearchResult result = session.search(request);
    std::set<std::string> found, expected;
    std::map<std::string, std::int64_t> counts;
    for (const SearchHit& hit : result.hits) found.insert(hit.id);
    for (const FieldDocument& document : documents) {
      const bool matches = contains_word(document.text, "word1") || contains_word(document.text, "word2") ||
                           contains_word(document.text, "word3");
      if (!matches || !meets(document.metadata, filter)) continue;
      expected.insert(document.id);
      for (const json& value : values_of(document.metadata, "lang")) ++counts[value.get<std::string>()];
    }
    EXPECT_EQ(found, expected) << filter;
    EXPECT_EQ(result.facets[0].all_values, static_cast<std::int64_t>(counts.size()));
    for (const auto& [value, number] : result.facets[0].values) EXPECT_EQ(number, counts[value]) << value;
  }
}

TEST(FieldFilters, AreAppliedBeforeTheBestHitsAreTaken) {
  TemporaryFolder folder;
  std::vector<FieldDocument> documents;
  for (int i = 0; i < 500; ++i) {
    // The documents of "b" are longer, so all others are better.
    documents.push_back({"d" + std::to_string(i),
                         "word" + std::string(i < 100 ? " and more words" : ""),
                         {{"lang", i < 100 ? "b" : "a"}}});
  }
  write(folder / "index", documents, 1000);
  const SearchSession session(folder / "index", bm25_config(), QuerySyntax::words);
  SearchRequest request;
  request.query = "word";
  request.hits = 100;
  request.filter = R"({"lang": "b"})";
  EXPECT_EQ(session.search(request).hits.size(), 100U);
}

// Lucene++'s own fields and filters.

TEST(FieldTerms, AreThoseOfLucene) {
  using Lucene::NumericUtils;
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    double number = 0;
    const std::uint64_t bits = random();
    std::memcpy(&number, &bits, sizeof number);
    if (std::isnan(number) || number == 0) continue;
    if (i % 2 == 0) number = static_cast<double>(static_cast<std::int64_t>(random() % 4000) - 2000) / 4;
    if (number == 0) continue;
    EXPECT_EQ(fields::sortable(number), NumericUtils::doubleToSortableLong(number));
    int shift = 0;
    fields::each_term(fields::bytes_of_number(number), [&](std::string_view term) {
      EXPECT_EQ(to_lucene(term), NumericUtils::longToPrefixCoded(NumericUtils::doubleToSortableLong(number), shift));
      shift += NumericUtils::PRECISION_STEP_DEFAULT;
    });
    EXPECT_EQ(shift, 64);
  }
  EXPECT_EQ(fields::sortable(-0.0), fields::sortable(0.0));
}

TEST(FieldTerms, OfARangeAreThoseOfItsNumbersAlone) {
  std::mt19937_64 random(2);
  const auto covered = [](std::int64_t low, std::int64_t high, std::int64_t number) {
    bool found = false;
    fields::each_run(low, high, [&](const std::string& first, const std::string& last) {
      const int shift = first[0] - 0x20;
      const std::string term = fields::prefix_term(number, shift);
      found = found || (first <= term && term <= last);
    });
    return found;
  };
  for (int i = 0; i < 20000; ++i) {
    const int width = static_cast<int>(random() % 63) + 1;
    const auto low = static_cast<std::int64_t>(random());
    const auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (random() >> (64 - width)));
    if (high < low) continue;
    std::size_t runs = 0;
    fields::each_run(low, high, [&](const std::string&, const std::string&) { ++runs; });
    EXPECT_LE(runs, 32U);
    std::vector<std::int64_t> numbers = {low, high, low + (high - low) / 2, static_cast<std::int64_t>(random())};
    if (low > std::numeric_limits<std::int64_t>::min()) numbers.push_back(low - 1);
    if (high < std::numeric_limits<std::int64_t>::max()) numbers.push_back(high + 1);
    for (const std::int64_t number : numbers) {
      EXPECT_EQ(covered(low, high, number), low <= number && number <= high) << low << " " << high << " " << number;
    }
  }
  for (std::int64_t low = -40; low < 40; ++low) {
    for (std::int64_t high = low; high < 300; high += 7) {
      for (std::int64_t number = -60; number < 320; ++number) {
        ASSERT_EQ(covered(low, high, number), low <= number && number <= high) << low << " " << high << " " << number;
      }
    }
  }
}

std::set<std::int32_t> documents_of(const Lucene::IndexReaderPtr& reader, const Lucene::FilterPtr& filter) {
  std::set<std::int32_t> found;
  const auto searcher = Lucene::newLucene<Lucene::IndexSearcher>(reader);
  const auto hits = searcher->search(Lucene::newLucene<Lucene::MatchAllDocsQuery>(), filter, reader->maxDoc());
  for (const auto& hit : hits->scoreDocs) found.insert(hit->doc);
  return found;
}

TEST(FieldTerms, ServeLucenesOwnFilters) {
  TemporaryFolder folder;
  const auto documents = random_documents(400, 21);
  write(folder / "index", documents, 150);
  const auto reader = open_reader(folder / "index");
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    const double low = 1985 + static_cast<int>(random() % 50), high = low + static_cast<int>(random() % 20);
    const bool with_low = random() % 2 == 0, with_high = random() % 2 == 0;
    const json bounds = {{with_low ? "gte" : "gt", low}, {with_high ? "lte" : "lt", high}};
    EXPECT_EQ(documents_of(reader, makeFieldFilter(reader, json({{"year", bounds}}).dump())),
              documents_of(reader, Lucene::NumericRangeFilter::newDoubleRange(L"year", low, high, with_low, with_high)))
        << bounds;
  }
  const auto french = Lucene::newLucene<Lucene::IndexSearcher>(reader)->search(
      Lucene::newLucene<Lucene::TermQuery>(Lucene::newLucene<Lucene::Term>(L"lang", L"fr")), 400);
  EXPECT_EQ(static_cast<std::size_t>(french->totalHits),
            documents_of(reader, makeFieldFilter(reader, R"({"lang": "fr"})")).size());
  EXPECT_GT(french->totalHits, 10);
  EXPECT_EQ(makeFieldFilter(reader, "{}"), Lucene::FilterPtr());
}

void write_by_lucene(const fs::path& folder, const std::vector<FieldDocument>& documents) {
  using Lucene::AbstractField;
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                                             Lucene::newLucene<EnglishAnalyzer>(), true,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setUseCompoundFile(false);
  writer->setRAMBufferSizeMB(1024);
  writer->setSimilarity(Lucene::newLucene<bm25::BM25Similarity>());
  const auto keyword = [](const Lucene::String& name, const std::string& value) {
    const auto field = Lucene::newLucene<Lucene::Field>(name, to_lucene(value), AbstractField::STORE_NO,
                                                        AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    field->setOmitTermFreqAndPositions(true);
    return field;
  };
  const auto stored = [](const Lucene::String& name, const std::string& text) {
    const auto bytes = Lucene::ByteArray::newInstance(static_cast<std::int32_t>(text.size()));
    std::memcpy(bytes.get(), text.data(), text.size());
    return Lucene::newLucene<Lucene::Field>(name, bytes, AbstractField::STORE_YES);
  };
  for (const FieldDocument& document : documents) {
    const auto made = Lucene::newLucene<Lucene::Document>();
    const auto id = Lucene::newLucene<Lucene::Field>(L"id", to_lucene(document.id), AbstractField::STORE_YES,
                                                     AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    id->setOmitTermFreqAndPositions(true);
    made->add(id);
    made->add(stored(L"text", document.text));
    const auto stream = Lucene::newLucene<ChainTokenStream>(AnalyzerKind::english);
    stream->set_text(document.text);
    made->add(Lucene::newLucene<Lucene::Field>(L"contents", stream));
    made->add(stored(to_lucene(fields::kMetadataField), document.metadata.dump()));
    made->add(keyword(L"lang", document.metadata["lang"].get<std::string>()));
    const auto year = Lucene::newLucene<Lucene::NumericField>(L"year");
    year->setDoubleValue(document.metadata["year"].get<double>());
    made->add(year);
    const auto title = Lucene::newLucene<ChainTokenStream>(AnalyzerKind::english);
    title->set_text(document.metadata["title"].get<std::string>());
    made->add(Lucene::newLucene<Lucene::Field>(L"title", title));
    writer->addDocument(made);
  }
  writer->close();
}

TEST(FieldSegments, AreByteForByteWhatLuceneWrites) {
  for (const int count : {1, 16, 300}) {
    SCOPED_TRACE(count);
    TemporaryFolder folder;
    std::vector<FieldDocument> documents;
    std::mt19937 random(7);
    for (int i = 0; i < count; ++i) {
      documents.push_back({"d" + std::to_string(i),
                           "some words w" + std::to_string(random() % 30),
                           {{"lang", "l" + std::to_string(random() % 20)},
                            {"year", random() % 3000 * 0.5 - 100},
                            {"title", random() % 9 == 0 ? "" : "the w" + std::to_string(random() % 9) + " of w1"}}});
    }
    write_by_lucene(folder / "theirs", documents);
    fs::create_directory(folder / "ours");
    const auto fields = fields::declared_fields(std::vector<std::string>{"lang"}, std::vector<std::string>{"year"},
                                                std::vector<std::string>{"title"});
    segment::DocumentRange range;
    for (const FieldDocument& document : documents) {
      const std::string metadata = document.metadata.dump();
      range.add(document.id, document.text, metadata, fields::values_of(fields, metadata, document.id));
    }
    analysis::EnglishTerms source;
    segment::write_segment(folder / "ours", "_0", segment::Fields("id", "text", "contents", false, {true, fields}),
                           range, source);
    for (const char* extension : segment::kExtensions) {
      EXPECT_TRUE(bytes_of(segment::file_of(folder / "ours", "_0", extension)) ==
                  bytes_of(segment::file_of(folder / "theirs", "_0", extension)))
          << extension;
    }
  }
}

// Metadata.

TEST(Metadata, IsReturnedAsItWasGiven) {
  TemporaryFolder folder;
  IndexBuilder::Options options;
  options.metadata = true;
  const std::string spelled = R"({ "big": 123456789012345678901234567890.10, "a\u0062c": [1,  {"x": "}"}], "e": ""})";
  {
    const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, options);
    builder->add("one", "word", spelled);
    builder->add("two", "word");
    builder->add("a/b %", "word", R"({"long": ")" + std::string(IndexBuilder::kMaxMetadataBytes, 'x') + "\"}");
    EXPECT_THROW(builder->add("bad", "word", "[1]"), Error);
    EXPECT_THROW(builder->add("bad", "word", "{"), Error);
    builder->add("three", "word", R"({"k": 1})");  // a refused document does no harm
    builder->close();
  }
  const SearchSession session(folder / "index", bm25_config(), QuerySyntax::words);
  SearchRequest request;
  request.query = "word";
  for (const SearchHit& hit : session.search(request).hits) EXPECT_EQ(hit.fields, "");
  request.all_fields = true;
  const auto all = session.search(request).hits;
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].fields, spelled);
  EXPECT_EQ(all[0].text, "word");
  EXPECT_EQ(all[1].fields, "{}");
  EXPECT_EQ(all[2].fields, "{}");
  request.all_fields = false;
  request.fields = {"abc", "absent"};
  EXPECT_EQ(session.search(request).hits[0].fields, R"({"a\u0062c": [1,  {"x": "}"}]})");

  const auto one = session.document("one");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->text, "word");
  EXPECT_EQ(one->metadata, spelled);
  ASSERT_TRUE(session.document("a/b %"));
  EXPECT_EQ(session.document("a/b %")->metadata, "");
  EXPECT_FALSE(session.document("bad"));
  EXPECT_FALSE(session.document(""));
}

TEST(Metadata, MayBeAddedToAnIndexWithout) {
  TemporaryFolder folder;
  IndexBuilder::Options options;
  {
    const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, options);
    builder->add("old", "word");
    EXPECT_THROW(builder->add("new", "word", R"({"k": 1})"), Error);
    builder->commit({});
    builder->close();
  }
  options.metadata = true;
  {
    const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::append, options);
    builder->add("new", "word", R"({"k": 1})");
    builder->close();
  }
  options.metadata = false;  // what has metadata keeps it
  {
    const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::append, options);
    builder->add("newer", "word");
    builder->merge(1);
    builder->close();
  }
  const SearchSession session(folder / "index", bm25_config(), QuerySyntax::words);
  EXPECT_EQ(session.document("old")->metadata, "");
  EXPECT_EQ(session.document("new")->metadata, R"({"k": 1})");
  EXPECT_EQ(session.document("newer")->metadata, "");
  options.fields.keyword_fields = {"k"};
  EXPECT_THROW(IndexBuilder::open(folder / "index", IndexBuilder::Mode::append, options), Error);
}

// Bad input.

template <typename Work>
std::string refusal(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(FieldErrors, NameTheDocumentAndTheKey) {
  TemporaryFolder folder;
  IndexBuilder::Options options;
  options.fields = declared();
  const auto builder = IndexBuilder::open(folder / "index", IndexBuilder::Mode::create, options);
  const auto add = [&](const char* metadata) { return refusal([&] { builder->add("d7", "word", metadata); }); };
  for (const char* metadata : {R"({"year": "2020"})", R"({"year": [1, true]})", R"({"year": {"gte": 1}})",
                               R"({"year": 9007199254740993})", R"({"year": -1e300})"}) {
    const std::string problem = add(metadata);
    EXPECT_NE(problem.find("document \"d7\""), std::string::npos) << problem;
    EXPECT_NE(problem.find("\"year\""), std::string::npos) << problem;
  }
  EXPECT_NE(add(R"({"year": 9007199254740994})").find("2^53"), std::string::npos);
  EXPECT_NE(add(R"({"lang": 3})").find("\"lang\", which is declared as a keyword"), std::string::npos);
  EXPECT_NE(add(R"({"lang": [["de"]]})").find("\"lang\""), std::string::npos);
  EXPECT_NE(add((R"({"lang": ")" + std::string(16384, 'x') + "\"}").c_str()).find("16383"), std::string::npos);
  EXPECT_EQ(add(R"({"year": 9007199254740992, "lang": null})"), "no error");
  for (const auto& [keywords, numbers] :
       std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>{{{"a"}, {"a"}},
                                                                                  {{"a", "a"}, {}},
                                                                                  {{"text"}, {}},
                                                                                  {{}, {"id"}},
                                                                                  {{"contents"}, {}},
                                                                                  {{""}, {}},
                                                                                  {{fields::kMetadataField}, {}}}) {
    options.fields.keyword_fields = keywords;
    options.fields.number_fields = numbers;
    EXPECT_NE(refusal([&] { IndexBuilder::open(folder / "other", IndexBuilder::Mode::create, options); }), "no error");
  }
}

TEST(FieldErrors, OfFiltersNameTheKey) {
  TemporaryFolder folder;
  write(folder / "index", random_documents(5, 1), 10);
  const SearchSession session(folder / "index", bm25_config(), QuerySyntax::words);
  const auto problem_of = [&](const std::string& filter, std::vector<std::string> facets = {}) {
    return refusal([&] {
      SearchRequest request;
      request.query = "all";
      request.filter = filter;
      request.facets = std::move(facets);
      session.search(request);
    });
  };
  const auto expect = [&](const std::string& filter, const std::string& part) {
    EXPECT_NE(problem_of(filter).find(part), std::string::npos) << filter << ": " << problem_of(filter);
  };
  expect("{", "is not JSON");
  expect("[]", "is not an object");
  expect(R"({"colour": "red"})", "\"colour\" is not a declared field of the index, which declares lang (keyword)");
  expect(R"({"lang": 3})", "\"lang\" is a keyword");
  expect(R"({"lang": {"gte": "a"}})", "\"lang\" is a keyword");
  expect(R"({"lang": []})", "\"lang\" is empty");
  expect(R"({"lang": null})", "\"lang\" is a keyword");
  expect(R"({"year": "2020"})", "\"year\" is a number");
  expect(R"({"year": {}})", "\"year\" has no bounds");
  expect(R"({"year": {"ge": 1}})", "\"ge\" at \"year\" is not a bound");
  expect(R"({"year": {"gt": 1, "gte": 2}})", "\"year\" has two lower bounds");
  expect(R"({"year": {"lt": 9007199254740994}})", "2^53");
  expect(R"({"year": 9007199254740993})", "2^53");
  expect(R"({"year": [-9007199254740993]})", "2^53");
  expect(R"({"year": {"lt": 1, "lt": 2}})", "\"lt\" occurs twice");
  expect(R"({"lang": "a", "lang": "b"})", "\"lang\" occurs twice");
  expect(std::string(5000, '[') + std::string(5000, ']'), "nests too deep");
  EXPECT_EQ(problem_of("{}"), "no error");
  EXPECT_NE(problem_of("", {"year"}).find("only keywords are counted"), std::string::npos);
  EXPECT_NE(problem_of("", {"lang", "lang"}).find("asked for twice"), std::string::npos);
  EXPECT_NE(problem_of("", {"nothing"}).find("\"nothing\" is not a declared field"), std::string::npos);
}

}  // namespace
}  // namespace relucent::testing
