// Indexes of other programs, of any shape that Lucene++ can write: verify calls each sound, advises nothing that would
// destroy it, and `relucent index` does not replace it. RELUCENT_FUZZ_TRIALS=N tries N of them, not 60.
#include <LuceneHeaders.h>
#include <NumericField.h>
#include <SerialMergeScheduler.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/verify.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using Lucene::AbstractField;
using Lucene::newLucene;
using testing::TemporaryFolder;

int trials() {
  const char* asked = std::getenv("RELUCENT_FUZZ_TRIALS");
  return asked != nullptr ? std::atoi(asked) : 60;
}

/// How one index is written; drawn once, so that an index has a shape and not only noise.
class ForeignIndex {
 public:
  explicit ForeignIndex(std::mt19937& random) : random_(random) {
    for (const char* name : {"id", "text", "contents", "title", "body", "\xC3\xA9t\xC3\xA9", "n"}) {
      if (chance(60)) fields_.emplace_back(name);
    }
    for (int& share : shares_) share = static_cast<int>(random_() % 101);
  }

  void write(const fs::path& folder) {
    const auto directory = Lucene::FSDirectory::open(to_lucene(folder.string()));
    for (int session = 0, sessions = 1 + number(3); session < sessions; ++session) {
      const auto writer = newLucene<Lucene::IndexWriter>(
          directory, analyzer(), session == 0,
          chance(80) ? Lucene::IndexWriter::MaxFieldLengthUNLIMITED : Lucene::IndexWriter::MaxFieldLengthLIMITED);
      writer->setMergeScheduler(newLucene<Lucene::SerialMergeScheduler>());
      writer->setUseCompoundFile(chance(50));
      if (chance(50)) writer->setMaxBufferedDocs(2 + number(20));
      const int documents = chance(10) ? 0 : number(40);
      for (int i = 0; i < documents; ++i) {
        writer->addDocument(document());
        if (chance(5)) writer->commit();
      }
      if (chance(30)) writer->deleteDocuments(newLucene<Lucene::Term>(L"id", to_lucene(std::to_string(number(20)))));
      if (chance(5)) writer->deleteAll();
      if (chance(20)) writer->optimize();
      if (chance(20)) {
        auto data = Lucene::MapStringString::newInstance();
        data.put(L"owner", L"somebody else");
        writer->commit(data);
      }
      writer->close();
    }
    if (chance(20)) set_norms(directory);
  }

 private:
  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  bool chance(int percent) { return number(100) < percent; }

  Lucene::AnalyzerPtr analyzer() {
    if (chance(40)) return newLucene<Lucene::WhitespaceAnalyzer>();
    if (chance(50)) return newLucene<Lucene::KeywordAnalyzer>();
    return newLucene<Lucene::StandardAnalyzer>(Lucene::LuceneVersion::LUCENE_CURRENT);
  }

  std::string words() {
    static const std::string choices[] = {"one", "two", "the", "", "\u00FCber", "\U0001F600", "x\ny"};
    std::string text;
    for (int i = 0, count = chance(3) ? 3000 : number(12); i < count; ++i) {
      text += (chance(50) ? choices[static_cast<std::size_t>(number(7))] : "w" + std::to_string(number(50))) + " ";
    }
    return text;
  }

  Lucene::DocumentPtr document() {
    const auto made = newLucene<Lucene::Document>();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (!chance(shares_[i])) continue;  // some documents lack the field
      for (int values = chance(10) ? 3 : 1; values > 0; --values) made->add(field(fields_[i]));
    }
    if (chance(10)) made->setBoost(2.5);
    return made;
  }

  Lucene::FieldablePtr field(const std::string& name) {
    const Lucene::String field_name = to_lucene(name);
    if (name == "n") {
      const auto numeric = newLucene<Lucene::NumericField>(field_name, AbstractField::STORE_YES, true);
      numeric->setIntValue(number(1000));
      return numeric;
    }
    if (chance(shares_[0] / 10)) {  // bytes instead of a text
      auto bytes = Lucene::ByteArray::newInstance(5);
      for (int i = 0; i < 5; ++i) bytes[i] = static_cast<std::uint8_t>(number(256));
      return newLucene<Lucene::Field>(field_name, bytes, AbstractField::STORE_YES);
    }
    AbstractField::Index index = name == "id"     ? AbstractField::INDEX_NOT_ANALYZED
                                 : name == "text" ? AbstractField::INDEX_NO
                                                  : AbstractField::INDEX_ANALYZED;
    if (chance(shares_[1] / 5)) index = AbstractField::INDEX_ANALYZED_NO_NORMS;
    const bool stored = index == AbstractField::INDEX_NO || chance(shares_[2]);
    const auto vectors = index != AbstractField::INDEX_NO && chance(shares_[3] / 5)
                             ? AbstractField::TERM_VECTOR_WITH_POSITIONS_OFFSETS
                             : AbstractField::TERM_VECTOR_NO;
    const auto made =
        newLucene<Lucene::Field>(field_name, to_lucene(name == "id" ? std::to_string(number(60)) : words()),
                                 stored ? AbstractField::STORE_YES : AbstractField::STORE_NO, index, vectors);
    if (chance(shares_[4] / 10)) made->setOmitTermFreqAndPositions(true);
    if (chance(10)) made->setBoost(0.5);
    return made;
  }

  static void set_norms(const Lucene::DirectoryPtr& directory) {
    const auto reader = Lucene::IndexReader::open(directory, false);
    for (std::int32_t i = 0; i < std::min(reader->maxDoc(), 3); ++i) {
      if (!reader->isDeleted(i)) reader->setNorm(i, L"contents", static_cast<std::uint8_t>(100));
    }
    reader->close();
  }

  std::mt19937& random_;
  std::vector<std::string> fields_;
  int shares_[8] = {};
};

std::map<std::string, std::string> bytes_of_folder(const fs::path& folder) {
  std::map<std::string, std::string> bytes;
  for (const auto& file : fs::directory_iterator(folder)) {
    bytes[file.path().filename().string()] = testing::bytes_of(file.path());
  }
  return bytes;
}

std::string described(const VerifyReport& report) {
  std::string text;
  for (const Check& check : report.checks) {
    text += std::string(to_string(check.status)) + " " + check.name + " " + check.detail + "\n";
  }
  return text;
}

void expect_refused(IndexJob job) {
  testing::expect_error(ErrorKind::usage, job.index.string(), [&] { run_index(job); });
}

TEST(ForeignIndexes, AreSoundAndAreNotReplaced) {
  std::mt19937 random(8);
  std::int64_t documents = 0, notes = 0;
  const int count = trials();
  for (int trial = 0; trial < count; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const TemporaryFolder folder;
    const fs::path index = folder / "index";
    ASSERT_NO_THROW(ForeignIndex(random).write(index));
    const auto before = bytes_of_folder(index);

    VerifyJob verify;
    verify.index = index;
    verify.quiet = true;
    const VerifyReport report = verify_index(verify);
    const std::string text = described(report);
    ASSERT_TRUE(report.sound() && report.matches()) << text;
    EXPECT_EQ(text.find("overwrite"), std::string::npos) << text;
    documents += report.documents;
    for (const Check& check : report.checks) notes += check.status == Check::Status::note ? 1 : 0;

    IndexJob job;
    job.corpus = "tsv";
    job.inputs = {folder.write("docs.tsv", "1\tone text\n").string()};
    job.index = index;
    job.quiet = true;
    job.threads = 1;
    for (const auto start : {IndexJob::Start::fresh, IndexJob::Start::overwrite}) {
      job.start = start;
      expect_refused(job);
    }
    auto after = bytes_of_folder(index);
    std::erase_if(after, [](const auto& file) { return file.first.starts_with("relucent"); });  // what is remembered
    ASSERT_TRUE(after == before);
    if (trial % 10 != 0) continue;
    job.force = true;
    EXPECT_EQ(run_index(job).documents, 1);
    EXPECT_TRUE(verify_index(verify).sound());
  }
  std::cout << count << " indexes, " << documents << " documents, " << notes << " notes\n";
}

}  // namespace
}  // namespace relucent::index_tools
