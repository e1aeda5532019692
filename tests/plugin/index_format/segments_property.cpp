// Our own writer of segments against Lucene++'s, our merges against one writer, and one thread against several.
#include <TermPositions.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "plugin/index_format/analysis/english_terms.h"
#include "plugin/index_format/segment/segment_merger.h"
#include "plugin/index_format/segment/segment_writer.h"
#include "plugin/lucene/analysis/chain_token_stream.h"
#include "plugin/lucene/bm25/similarity.h"
#include "plugin/lucene/index/field_lengths.h"
#include "relucent/error.h"
#include "tests/support/first_stage_support.h"
#include "tests/support/gz_lines.h"
#include "tests/support/test_data.h"
#include "tests/support/test_seed.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using segment::Segment;

const segment::Fields kFields("id", "text", "contents");

/// Words with a long tail, punctuation, several scripts, empty texts, repeated and odd ids.
std::vector<TestDocument> random_documents(std::size_t count, unsigned seed) {
  std::mt19937 random(seed_for_run(seed));
  const std::vector<std::string> marks = {" ",
                                          " ",
                                          " ",
                                          " ",
                                          ", ",
                                          ". ",
                                          " the ",
                                          "'s ",
                                          "_",
                                          "\n",
                                          " \xC3\xA9t\xC3\xA9 ",
                                          " \xE4\xB8\xAD\xE6\x96\x87 ",
                                          " \xF0\x9F\x98\x80 ",
                                          " \xFF ",
                                          " \xEF\xBF\xBF "};
  std::vector<TestDocument> documents;
  for (std::size_t i = 0; i < count; ++i) {
    TestDocument document{"d" + std::to_string(i), {}};
    if (random() % 50 == 0) document.id = "d" + std::to_string(random() % count);
    if (random() % 200 == 0) document.id = random() % 2 == 0 ? "" : "\xFF\xEF\xBF\xBF";
    for (std::size_t words = random() % 7 == 0 ? 0 : random() % 60; words > 0; --words) {
      std::size_t word = 1;
      while (word < 100000 && random() % 4 != 0) word = word * 3 + random() % 3;
      std::string text = "w";
      for (; word > 0; word /= 20) text += static_cast<char>('a' + word % 20);
      if (random() % 5 == 0) text[0] = 'W';
      document.text += text + marks[random() % marks.size()];
    }
    documents.push_back(document);
  }
  return documents;
}

segment::DocumentRange range_of(const std::vector<TestDocument>& documents, std::size_t first, std::size_t last) {
  segment::DocumentRange range;
  for (std::size_t i = first; i < last; ++i) range.add(documents[i].id, documents[i].text);
  return range;
}

/// By Lucene++'s writer, one segment named _0.
void write_by_lucene(const fs::path& folder, const std::vector<TestDocument>& documents) {
  using Lucene::AbstractField;
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                                             Lucene::newLucene<EnglishAnalyzer>(), true,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setUseCompoundFile(false);
  writer->setRAMBufferSizeMB(1024);
  writer->setSimilarity(Lucene::newLucene<bm25::BM25Similarity>());
  for (const TestDocument& document : documents) {
    const auto made = Lucene::newLucene<Lucene::Document>();
    const auto id = Lucene::newLucene<Lucene::Field>(L"id", to_lucene(document.id), AbstractField::STORE_YES,
                                                     AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    id->setOmitTermFreqAndPositions(true);
    const std::string text = well_formed_utf8(document.text);
    const auto bytes =
        Lucene::ByteArray::newInstance(std::max<std::int32_t>(static_cast<std::int32_t>(text.size()), 1));
    std::memcpy(bytes.get(), text.data(), text.size());
    const auto stored = Lucene::newLucene<Lucene::Field>(L"text", bytes, AbstractField::STORE_YES);
    stored->setValue(bytes, 0, static_cast<std::int32_t>(text.size()));
    const auto stream = Lucene::newLucene<ChainTokenStream>(AnalyzerKind::english);
    stream->set_text(text);
    made->add(id);
    made->add(stored);
    made->add(Lucene::newLucene<Lucene::Field>(L"contents", stream));
    writer->addDocument(made);
  }
  writer->close();
}

void expect_same_files(const fs::path& left, const std::string& left_name, const fs::path& right,
                       const std::string& right_name) {
  for (const char* extension : segment::kExtensions) {
    const fs::path left_file = segment::file_of(left, left_name, extension),
                   right_file = segment::file_of(right, right_name, extension);
    // A file may be empty: that of the positions, if the only text has no words.
    EXPECT_TRUE(fs::exists(left_file) && fs::exists(right_file)) << extension;
    const std::string a = bytes_of(left_file), b = bytes_of(right_file);
    const auto different = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    EXPECT_TRUE(a == b) << extension << ": " << a.size() << " and " << b.size() << " bytes, different from byte "
                        << different;
  }
}

TEST(Segments, AreByteForByteWhatLuceneWrites) {
  for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 256U, 257U, 5000U}) {
    SCOPED_TRACE(count);
    TemporaryFolder folder;
    const auto documents = random_documents(count, static_cast<unsigned>(count));
    write_by_lucene(folder / "theirs", documents);
    fs::create_directory(folder / "ours");
    analysis::EnglishTerms source;
    const Segment ours = segment::write_segment(folder / "ours", "_0", kFields, range_of(documents, 0, count), source);
    expect_same_files(folder / "ours", "_0", folder / "theirs", "_0");
    for (const auto& [extension, sum] : ours.files) {
      const fs::path file = segment::file_of(folder / "ours", "_0", extension.c_str());
      EXPECT_EQ(sum.size, static_cast<std::int64_t>(fs::file_size(file)));
      EXPECT_EQ(sum.checksum, checksum_of_file(file)) << extension;
    }
  }
}

TEST(Segments, LeaveOutTermsAsLongAsLuceneDoes) {
  TemporaryFolder folder;
  const std::vector<TestDocument> documents = {{std::string(16383, 'x'), "one"}, {std::string(16384, 'y'), "two"}};
  write_by_lucene(folder / "theirs", documents);
  fs::create_directory(folder / "ours");
  analysis::EnglishTerms source;
  segment::write_segment(folder / "ours", "_0", kFields, range_of(documents, 0, 2), source);
  expect_same_files(folder / "ours", "_0", folder / "theirs", "_0");
}

TEST(Segments, MergedAreByteForByteWhatOneWriterWrites) {
  TemporaryFolder folder;
  std::mt19937 random(7);
  const auto documents = random_documents(6000, 3);
  analysis::EnglishTerms source;
  segment::write_segment(folder.path(), "_whole", kFields, range_of(documents, 0, documents.size()), source);
  for (int trial = 0; trial < 10; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<Segment> parts;
    for (std::size_t first = 0; first < documents.size();) {
      const std::size_t longest = random() % 3 == 0 ? 20 : 3000;
      const std::size_t last = std::min(documents.size(), first + 1 + random() % longest);
      parts.push_back(segment::write_segment(folder.path(), "_p" + std::to_string(parts.size()), kFields,
                                             range_of(documents, first, last), source));
      first = last;
    }
    const std::atomic<bool> cancelled = false;
    const Segment merged = segment::merge_segments(folder.path(), "_m", kFields, parts, cancelled);
    EXPECT_EQ(merged.documents, 6000);
    expect_same_files(folder.path(), "_m", folder.path(), "_whole");
    for (const auto& [extension, sum] : merged.files) {
      EXPECT_EQ(sum.checksum, checksum_of_file(segment::file_of(folder.path(), "_m", extension.c_str()))) << extension;
    }
  }
}

TEST(Segments, MergingFindsADamagedSource) {
  TemporaryFolder folder;
  std::mt19937 random(9);
  const auto documents = random_documents(300, 4);
  analysis::EnglishTerms source;
  const std::vector<Segment> parts = {
      segment::write_segment(folder.path(), "_0", kFields, range_of(documents, 0, 150), source),
      segment::write_segment(folder.path(), "_1", kFields, range_of(documents, 150, 300), source)};
  for (const char* extension : {"fdt", "fdx", "frq", "nrm", "prx", "tis"}) {
    const fs::path file = segment::file_of(folder.path(), "_1", extension);
    const std::string good = bytes_of(file);
    for (int trial = 0; trial < 20; ++trial) {
      std::string bad = good;
      const std::size_t at = random() % bad.size();
      bad[at] = static_cast<char>(bad[at] ^ (1 + random() % 255));
      if (trial == 0) bad.resize(at);
      std::ofstream(file, std::ios::binary) << bad;
      const std::atomic<bool> cancelled = false;
      try {
        segment::merge_segments(folder.path(), "_m", kFields, parts, cancelled);
        ADD_FAILURE() << extension << " byte " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_data) << error.what();
        EXPECT_NE(error.place().find("_1."), std::string::npos) << error.what();
      }
    }
    std::ofstream(file, std::ios::binary) << good;
  }
  const std::atomic<bool> cancelled = true;
  EXPECT_THROW(segment::merge_segments(folder.path(), "_m", kFields, parts, cancelled), segment::Cancelled);
}

/// The whole of an index through Lucene++'s reader: stored fields, terms, postings with positions, norms.
std::string contents_of(const fs::path& folder) {
  const auto reader = open_reader(folder);
  std::string all;
  for (std::int32_t i = 0; i < reader->maxDoc(); ++i) {
    const auto document = reader->document(i);
    all += *stored_text(document, "id") + '\t' + *stored_text(document, "text") + '\n';
  }
  const auto terms = reader->terms();
  while (terms->next()) {
    all +=
        to_utf8(terms->term()->field()) + ':' + to_utf8(terms->term()->text()) + ' ' + std::to_string(terms->docFreq());
    const auto postings = reader->termPositions(terms->term());
    while (postings->next()) {
      all += ' ' + std::to_string(postings->doc());
      if (terms->term()->field() != L"contents") continue;
      for (std::int32_t i = 0; i < postings->freq(); ++i) all += ',' + std::to_string(postings->nextPosition());
    }
    all += '\n';
  }
  const Lucene::ByteArray norms = reader->norms(L"contents");
  all.append(reinterpret_cast<const char*>(norms.get()), static_cast<std::size_t>(reader->maxDoc()));
  reader->close();
  return all;
}

TEST(IndexBuilders, OfAnyNumberOfThreadsMakeTheSameIndex) {
  const auto documents = random_documents(8000, 5);
  std::string expected;
  for (const int threads : {1, 2, 4, 7}) {
    for (const bool merged : {false, true}) {
      SCOPED_TRACE(threads);
      TemporaryFolder folder;
      IndexBuilder::Options options;
      options.threads = threads;
      options.buffer_mb = 1;  // many ranges, many merges
      const auto builder = IndexBuilder::open(folder.path(), IndexBuilder::Mode::create, options);
      for (std::size_t i = 0; i < documents.size(); ++i) {
        builder->add(documents[i].id, documents[i].text);
        if (i % 1201 == 0) builder->commit({});
      }
      if (merged) builder->merge(1);
      builder->close();
      const auto totals = builder->totals();
      EXPECT_EQ(totals.documents, 8000);
      const std::string contents = contents_of(folder.path());
      if (expected.empty()) expected = contents;
      EXPECT_TRUE(contents == expected);
      const auto statistics = open_bm25(folder.path())->statistics();
      EXPECT_EQ(statistics.document_count, totals.documents_with_tokens);
      EXPECT_EQ(statistics.sum_total_term_freq, totals.tokens);
      // Only what the last commit needs is left.
      const auto list = Lucene::IndexReader::listCommits(Lucene::FSDirectory::open(to_lucene(folder.path().string())));
      EXPECT_EQ(list.size(), 1);
      std::set<std::string> needed = {"segments.gen"};
      for (const auto& name : list[0]->getFileNames()) {
        needed.insert(to_utf8(name));
        needed.insert(fs::path(to_utf8(name)).replace_extension(segment::kBlockSums).string());  // Lucene++ has none
      }
      for (const auto& entry : fs::directory_iterator(folder.path())) {
        EXPECT_TRUE(needed.contains(entry.path().filename().string())) << entry.path();
      }
    }
  }
}

TEST(IndexBuilders, MakeWhatLuceneCanGoOnWith) {
  TemporaryFolder folder;
  const auto documents = random_documents(3000, 6);
  write_own(folder / "one", documents, 3000);
  write_own(folder / "many", documents, 100);
  const std::string expected = contents_of(folder / "one");
  EXPECT_TRUE(contents_of(folder / "many") == expected);
  const auto writer = stock_writer(folder / "many", false);
  writer->optimize();
  writer->close();
  EXPECT_EQ(bm25::leaf_readers(open_reader(folder / "many")).size(), 1U);
  EXPECT_TRUE(contents_of(folder / "many") == expected);
}

/// The terms of the fast way and of the plain one.
void expect_same_terms(analysis::EnglishTerms& source, const std::string& text) {
  const auto terms = source.terms_of(text);
  const auto tokens = analyze_english(text);
  ASSERT_EQ(terms.size(), tokens.size()) << text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(terms[i].text, tokens[i].term) << text;
    ASSERT_EQ(terms[i].position_increment, tokens[i].position_increment) << text;
    ASSERT_EQ(terms[i].hash, analysis::hash_of(tokens[i].term));
  }
}

TEST(EnglishTerms, AreThoseOfTheChainOnRandomText) {
  std::mt19937 random(8);
  analysis::EnglishTerms source;
  const std::string ascii = "aAsStTeEiInNgGdDyYlL019_'.,:; \t-@";
  const std::vector<std::string> other = {"\xC3\xA9",     "\xC4\xB0",         "\xC8\xBA",         "\xE2\x80\x99",
                                          "\xEF\xBC\x87", "\xE2\x84\xAA",     "\xE4\xB8\xAD",     "\xCC\x81",
                                          "\xE2\x80\x8D", "\xF0\x9F\x91\xA9", "\xF0\x90\x90\x80", "\xD7\x90"};
  for (int trial = 0; trial < 60000; ++trial) {
    std::string text;
    const bool only_ascii = trial % 2 == 0;
    for (std::size_t length = random() % (trial % 100 == 0 ? 2000 : 60); length > 0; --length) {
      if (!only_ascii && random() % 6 == 0) {
        text += other[random() % other.size()];
      } else if (random() % 40 == 0) {
        text += std::string(20 + random() % 260, ascii[random() % ascii.size()]);
      } else {
        text += ascii[random() % ascii.size()];
      }
    }
    expect_same_terms(source, text);
    if (HasFatalFailure()) return;
  }
}

TEST(EnglishTerms, AreThoseOfTheChainOnRealText) {
  const auto file = test_data() / "candidates/dl21-passage.bm25.rerank.jsonl.gz";
  RELUCENT_NEEDS(file);
  analysis::EnglishTerms source;
  std::size_t terms = 0;
  for_each_line(file, [&](const std::string& line) {
    if (HasFatalFailure()) return;
    expect_same_terms(source, line);
    terms += source.terms_of(line).size();
  });
  EXPECT_GT(terms, 100000U);
}

}  // namespace
}  // namespace relucent::testing
