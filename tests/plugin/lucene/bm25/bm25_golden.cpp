// BM25 against Java Lucene: documents, order and float bits, on every collection, state of the index and writer found.
#include <gtest/gtest.h>

#include <boost/uuid/detail/sha1.hpp>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "plugin/index_format/length_byte.h"
#include "plugin/lucene/bm25/formula.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"

namespace relucent::testing {
namespace {

using nlohmann::json;

std::filesystem::path bm25_golden(const std::string& name) { return golden_path("bm25/" + name); }

std::vector<std::string> fields_of(const std::string& line, char separator = '\t') {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(field);
  return fields;
}

std::string sha1(const std::string& text) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(text.data(), text.size());
  unsigned int words[5];
  hash.get_digest(words);
  char hex[41];
  std::snprintf(hex, sizeof hex, "%08x%08x%08x%08x%08x", words[0], words[1], words[2], words[3], words[4]);
  return hex;
}

/// By coreutils' sha256sum.
std::string sha256(const std::string& text) {
  TemporaryFolder temporary;
  const std::filesystem::path file = temporary / "text";
  std::ofstream(file, std::ios::binary) << text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("sha256sum " + file.string()).c_str(), "r"), pclose);
  char hex[65] = "";
  if (!pipe || std::fread(hex, 1, 64, pipe.get()) != 64) ADD_FAILURE() << "sha256sum gives no answer";
  return hex;
}

/// Every C for which there is a C.docs.jsonl.gz.
std::vector<std::string> collections() {
  std::vector<std::string> names;
  constexpr std::string_view ending = ".docs.jsonl.gz";
  for (const std::filesystem::path& file : golden_listing("bm25")) {
    const std::string name = file.filename().string();
    if (name.ends_with(ending)) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<TestDocument> documents_of(const std::string& collection) {
  std::vector<TestDocument> documents;
  for_each_line(bm25_golden(collection + ".docs.jsonl.gz"), [&](const std::string& line) {
    const json document = json::parse(line);
    documents.push_back({document.at("id"), document.at("text")});
  });
  return documents;
}

struct Row {
  std::string document;
  std::uint32_t bits;
  bool operator==(const Row&) const = default;
};
using Rows = std::map<std::string, std::vector<Row>>;

/// One file of results: which queries, parameters and state of the index it is for.
struct Expected {
  std::filesystem::path file;
  std::string queries;  ///< "" or "edge."
  double k1, b;
  std::string state;  ///< "", "deleted10" or "deleted10-merged"
};

std::vector<Expected> expected_of(const std::string& collection) {
  std::vector<Expected> found;
  const std::regex pattern(collection + R"(\.((?:[a-z]+\.)?)k([0-9.]+)-b([0-9.]+?)(?:\.([a-z][a-z0-9-]*))?\.tsv\.gz)");
  for (const std::filesystem::path& file : golden_listing("bm25")) {
    const std::string name = file.filename().string();
    std::smatch parts;
    if (!std::regex_match(name, parts, pattern)) continue;
    found.push_back({file, parts[1], std::stod(parts[2]), std::stod(parts[3]), parts[4]});
  }
  return found;
}

Rows read_rows(const std::filesystem::path& file) {
  Rows run;
  for_each_line(file, [&](const std::string& line) {
    const auto fields = fields_of(line);
    run[fields.at(0)].push_back({fields.at(1), static_cast<std::uint32_t>(std::stoul(fields.at(4), nullptr, 16))});
  });
  return run;
}

void delete_every_tenth(const std::filesystem::path& index) {
  const auto reader = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(index.string())), false);
  for (std::int32_t i = 3; i < reader->maxDoc(); i += 10) reader->deleteDocument(i);
  reader->close();
}

/// The same by a writer, which keeps the commit's user data.
void delete_every_tenth_by_id(const std::filesystem::path& index, const std::vector<TestDocument>& documents) {
  const auto writer = stock_writer(index, false);
  for (std::size_t i = 3; i < documents.size(); i += 10) {
    writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene(documents[i].id)));
  }
  writer->close();
}

void merge_all(const std::filesystem::path& index) {
  const auto writer = stock_writer(index, false);
  writer->optimize();
  writer->close();
}

class BM25Golden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { documents_ = documents_of(GetParam()); }

  /// Every expected file for this state of the index, by both paths, and the hash of what they give where there is one.
  /// Returns the rows compared. `hashed_state` is the state as multisegment.json calls it.
  std::size_t check(const std::filesystem::path& index, const std::string& state, const std::string& hashed_state) {
    std::size_t rows = 0;
    const json hashes = result_hashes();
    for (const Expected& expected : expected_of(GetParam())) {
      if (expected.state != state) continue;
      SCOPED_TRACE(expected.file.filename().string());
      Rows run = read_rows(expected.file);
      std::string results;
      const auto searcher = open_bm25(index, expected.k1, expected.b);
      for_each_line(bm25_golden(GetParam() + "." + expected.queries + "queries.tsv"), [&](const std::string& line) {
        const auto fields = fields_of(line);
        const std::string text = fields.size() > 1 ? fields[1] : "";
        const auto query = flat_query(text);
        const TestHits fast = search(searcher, query, 100), general = search_generally(searcher, query, 100);
        EXPECT_EQ(fast.total, general.total) << text;
        const auto& wanted = run[fields.at(0)];
        rows += wanted.size();
        compare(searcher, fast, wanted, "term at a time: " + text);
        compare(searcher, general, wanted, "general: " + text);
        results += result_lines(searcher, fields.at(0), fast);
        run.erase(fields.at(0));
      });
      EXPECT_TRUE(run.empty()) << "results for queries that are not in the list";
      std::string name = expected.file.filename().string();
      name = name.substr(0, name.find(".tsv"));
      if (!state.empty()) name = name.substr(0, name.find("." + state));
      if (!hashed_state.empty()) name += "." + hashed_state;
      if (!hashes.contains(name)) continue;
      EXPECT_EQ(sha256(results), hashes.at(name).get<std::string>()) << name;
      ++hashes_compared_;
    }
    return rows;
  }

  void TearDown() override {
    if (hashes_compared_ > 0) std::cout << hashes_compared_ << " hashes of whole results are equal\n";
  }

  std::vector<TestDocument> documents_;

 private:
  static json result_hashes() {
    std::ifstream file(bm25_golden("multisegment.json"));
    return file ? json::parse(file).at("sha256_of_uncompressed_tsv") : json::object();
  }

  /// Query, document, rank, score as Java prints it (the shortest decimals, at least one behind the point), its bits.
  static std::string result_lines(const boost::shared_ptr<BM25Searcher>& searcher, const std::string& query,
                                  const TestHits& found) {
    std::string lines;
    for (std::size_t i = 0; i < found.hits.size(); ++i) {
      char decimals[64], bits[16];
      const auto end = std::to_chars(decimals, std::end(decimals), std::bit_cast<float>(found.hits[i].bits)).ptr;
      std::string score(decimals, end);
      if (score.find('.') == std::string::npos) score += ".0";
      std::snprintf(bits, sizeof bits, "%08x", found.hits[i].bits);
      lines += query + "\t" + *stored_text(searcher->doc(found.hits[i].document), "id") + "\t" + std::to_string(i + 1) +
               "\t" + score + "\t" + bits + "\n";
    }
    return lines;
  }

  std::size_t hashes_compared_ = 0;

  static void compare(const boost::shared_ptr<BM25Searcher>& searcher, const TestHits& actual,
                      const std::vector<Row>& wanted, const std::string& what) {
    std::vector<Row> rows;
    for (const auto& hit : actual.hits) rows.push_back({*stored_text(searcher->doc(hit.document), "id"), hit.bits});
    ASSERT_EQ(rows.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_TRUE(rows[i] == wanted[i]) << what << " rank " << i + 1 << ": " << rows[i].document << " "
                                        << std::bit_cast<float>(rows[i].bits) << " not " << wanted[i].document << " "
                                        << std::bit_cast<float>(wanted[i].bits);
    }
  }
};

TEST_P(BM25Golden, OwnIndex) {
  TemporaryFolder temporary;
  write_own(temporary.path(), documents_, documents_.size());
  std::size_t rows = check(temporary.path(), "", "");
  delete_every_tenth_by_id(temporary.path(), documents_);
  rows += check(temporary.path(), "deleted10", "deleted10");
  merge_all(temporary.path());
  rows += check(temporary.path(), "deleted10-merged", "deleted10-merged");
  EXPECT_GT(rows, 0U);
  std::cout << rows << " rows, each by two paths\n";
}

TEST_P(BM25Golden, OwnIndexOfSevenSegments) {
  TemporaryFolder temporary;
  write_own(temporary.path(), documents_, (documents_.size() + 6) / 7);
  EXPECT_EQ(open_reader(temporary.path())->getSequentialSubReaders().size(), 7);
  std::size_t rows = check(temporary.path(), "", "seg7");
  delete_every_tenth(temporary.path());  // drops the user data: the lengths are counted
  rows += check(temporary.path(), "deleted10", "seg7-deleted10");
  EXPECT_GT(rows, 0U);
  std::cout << rows << " rows, each by two paths\n";
}

TEST_P(BM25Golden, IndexOfAnotherProgram) {
  TemporaryFolder temporary;
  write_stock(temporary.path(), documents_, documents_.size());
  std::size_t rows = check(temporary.path(), "", "");
  EXPECT_TRUE(std::filesystem::exists(temporary / "relucent-contents.lengths"));
  delete_every_tenth(temporary.path());
  rows += check(temporary.path(), "deleted10", "deleted10");
  merge_all(temporary.path());
  rows += check(temporary.path(), "deleted10-merged", "deleted10-merged");
  EXPECT_GT(rows, 0U);
  std::cout << rows << " rows, each by two paths\n";
}

TEST_P(BM25Golden, IndexOfAnotherProgramOfSevenSegments) {
  TemporaryFolder temporary;
  write_stock(temporary.path(), documents_, (documents_.size() + 6) / 7);
  std::size_t rows = check(temporary.path(), "", "seg7");
  delete_every_tenth_by_id(temporary.path(), documents_);
  rows += check(temporary.path(), "deleted10", "seg7-deleted10");
  EXPECT_GT(rows, 0U);
  std::cout << rows << " rows, each by two paths\n";
}

TEST_P(BM25Golden, LengthsAndTokens) {
  TemporaryFolder temporary;
  write_own(temporary.path(), documents_, documents_.size());
  const auto reader = open_reader(temporary.path());
  const auto norms = reader->norms(L"contents");
  std::size_t i = 0;
  for_each_line(bm25_golden(GetParam() + ".lengths.tsv.gz"), [&](const std::string& line) {
    const auto fields = fields_of(line);
    ASSERT_LT(i, documents_.size());
    ASSERT_EQ(fields.at(0), documents_[i].id);
    const auto tokens = analyze_english(documents_[i].text);
    std::string joined;
    for (const auto& token : tokens) joined += (joined.empty() ? "" : " ") + token.term;
    EXPECT_EQ(std::to_string(tokens.size()), fields.at(1)) << fields[0];
    const int byte = std::stoi(fields.at(2));
    EXPECT_EQ(norms[static_cast<std::int32_t>(i)], std::max(byte, 0)) << fields[0];
    EXPECT_EQ(std::to_string(bm25::byte_length(norms[static_cast<std::int32_t>(i)])), fields.at(3)) << fields[0];
    if (!tokens.empty()) {
      EXPECT_EQ(sha1(joined).substr(0, 16), fields.at(4)) << fields[0];
    }
    ++i;
  });
  EXPECT_EQ(i, documents_.size());
}

TEST_P(BM25Golden, QueryTokens) {
  std::map<std::string, std::string> texts;
  for (const char* kind : {".queries.tsv", ".edge.queries.tsv"}) {
    const auto file = bm25_golden(GetParam() + kind);
    if (!std::filesystem::exists(file)) continue;
    for_each_line(file, [&](const std::string& line) {
      const auto fields = fields_of(line);
      texts[fields.at(0)] = fields.size() > 1 ? fields[1] : "";
    });
  }
  std::size_t queries = 0;
  for_each_line(bm25_golden(GetParam() + ".querytokens.tsv"), [&](const std::string& line) {
    const auto fields = fields_of(line);
    std::string joined;
    for (const auto& token : analyze_english(texts.at(fields.at(0))))
      joined += (joined.empty() ? "" : " ") + token.term;
    EXPECT_EQ(joined, fields.size() > 1 ? fields[1] : "") << fields[0];
    ++queries;
  });
  EXPECT_EQ(queries, texts.size());
}

/// Statistics in every state that the file has figures for.
TEST_P(BM25Golden, Statistics) {
  std::ifstream file(bm25_golden(GetParam() + ".stats.json"));
  const json stats = json::parse(file);
  const auto check_state = [&](const std::filesystem::path& index, const char* state) {
    SCOPED_TRACE(state);
    const json& wanted = stats.at(state);
    const auto searcher = open_bm25(index);
    const auto reader = searcher->getIndexReader();
    const auto& statistics = searcher->statistics();
    EXPECT_EQ(reader->getSequentialSubReaders().size(), wanted.at("segments").get<int>());
    EXPECT_EQ(reader->maxDoc(), wanted.at("maxDoc").get<int>());
    EXPECT_EQ(reader->numDocs(), wanted.at("numDocs").get<int>());
    EXPECT_EQ(statistics.document_count, wanted.at("docCount").get<std::int64_t>());
    EXPECT_EQ(statistics.sum_total_term_freq, wanted.at("sumTotalTermFreq").get<std::int64_t>());
    EXPECT_EQ(std::bit_cast<std::uint32_t>(statistics.average_length()),
              std::stoul(wanted.at("avgdl_bits").get<std::string>(), nullptr, 16));
    if (!wanted.contains("terms")) return;
    for (const json& term : wanted["terms"]) {
      const auto df = searcher->docFreq(
          Lucene::newLucene<Lucene::Term>(L"contents", to_lucene(term.at("term").get<std::string>())));
      EXPECT_EQ(df, term.at("df").get<int>()) << term;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(bm25::inverse_document_frequency(df, statistics.document_count)),
                std::stoul(term.at("idf_bits").get<std::string>(), nullptr, 16))
          << term;
    }
  };
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own ? "own index" : "another program's");
    const auto write = [&](const std::filesystem::path& path, const auto& all, std::size_t segment) {
      own ? write_own(path, all, segment) : write_stock(path, all, segment);
    };
    TemporaryFolder single, seven;
    write(single.path(), documents_, documents_.size());
    write(seven.path(), documents_, (documents_.size() + 6) / 7);
    check_state(single.path(), "single");
    check_state(seven.path(), "seg7");
    delete_every_tenth(single.path());
    delete_every_tenth_by_id(seven.path(), documents_);
    check_state(single.path(), "deleted10");
    check_state(seven.path(), "seg7_deleted10");
    merge_all(single.path());
    check_state(single.path(), "deleted10_merged");
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BM25Golden);
INSTANTIATE_TEST_SUITE_P(Collections, BM25Golden, ::testing::ValuesIn(collections()), [](const auto& instance) {
  return std::regex_replace(instance.param, std::regex("\\W"), "_");
});

TEST(BM25Goldens, ArePresent) {
  RELUCENT_NEEDS(golden_path("bm25"));
  EXPECT_FALSE(collections().empty());
}

/// Tokens with increments of whole collections whose texts are here.
TEST(EnglishAnalyzerGolden, HashesOfWholeCollections) {
  RELUCENT_NEEDS(golden_path("analyzer"));
  RELUCENT_NEEDS(golden_path("bm25"));
  std::size_t documents = 0, tokens = 0, files = 0;
  for (const std::filesystem::path& file : golden_listing("analyzer")) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".hashes.tsv.gz")) continue;
    ++files;
    std::map<std::string, std::string> texts;
    for (auto& document : documents_of(name.substr(0, name.find('.')))) texts[document.id] = std::move(document.text);
    for_each_line(file, [&](const std::string& line) {
      const auto fields = fields_of(line);
      std::string joined;
      const auto analyzed = analyze_english(texts.at(fields.at(0)));
      for (const auto& token : analyzed) {
        joined += (joined.empty() ? "" : " ") + token.term + "/" + std::to_string(token.position_increment);
      }
      EXPECT_EQ(std::to_string(analyzed.size()), fields.at(1)) << fields[0];
      EXPECT_EQ(sha1(joined), fields.at(2)) << fields[0];
      ++documents;
      tokens += analyzed.size();
    });
  }
  if (files == 0) GTEST_SKIP() << "SKIPPED: needs a *.hashes.tsv.gz in " << goldens() / "analyzer";
  EXPECT_GT(tokens, 0U);
  std::cout << documents << " texts, " << tokens << " tokens\n";
}

}  // namespace
}  // namespace relucent::testing
