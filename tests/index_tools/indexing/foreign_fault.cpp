// What verify finds in indexes of other programs, and in those that nobody has finished.
#include <LuceneHeaders.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/verify.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

VerifyReport verify(const fs::path& index) {
  VerifyJob job;
  job.index = index;
  job.quiet = true;
  return verify_index(job);
}

bool reports(const VerifyReport& report, const std::string& name, Check::Status status) {
  for (const Check& check : report.checks) {
    if (check.name == name && check.status == status) return true;
  }
  return false;
}

void flip(const TemporaryFolder& folder, const fs::path& file, const std::string& good, std::size_t at,
          std::mt19937& random) {
  std::string bad = good;
  bad[at] = static_cast<char>(bad[at] ^ (1 + random() % 255));
  folder.write(fs::relative(file, folder.path()).string(), bad);
}

TEST(VerifyForeign, FindsAFlippedByteOfTheLengthsKeptNextToIt) {
  const TemporaryFolder folder;
  const fs::path index = folder / "index";
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(index.string())),
                                                             Lucene::newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  for (int i = 0; i < 300; ++i) {
    using Lucene::AbstractField;
    const auto document = Lucene::newLucene<Lucene::Document>();
    document->add(Lucene::newLucene<Lucene::Field>(L"id", to_lucene(std::to_string(i)), AbstractField::STORE_YES,
                                                   AbstractField::INDEX_NOT_ANALYZED));
    document->add(
        Lucene::newLucene<Lucene::Field>(L"text", L"one text", AbstractField::STORE_YES, AbstractField::INDEX_NO));
    document->add(Lucene::newLucene<Lucene::Field>(L"contents", L"one text", AbstractField::STORE_NO,
                                                   AbstractField::INDEX_ANALYZED));
    writer->addDocument(document);
  }
  writer->close();
  EXPECT_TRUE(verify(index).sound());
  const fs::path lengths = index / "relucent-contents.lengths";
  const std::string good = testing::bytes_of(lengths);
  ASSERT_FALSE(good.empty());
  std::mt19937 random(21);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t at = random() % good.size();
    flip(folder, lengths, good, at, random);
    EXPECT_TRUE(reports(verify(index), "lengths", Check::Status::damaged)) << at;
    EXPECT_TRUE(testing::bytes_of(lengths) == good);
    EXPECT_TRUE(verify(index).sound());
  }
}

TEST(VerifyUnfinished, FindsAFlippedByteOfEveryFile) {
  const TemporaryFolder folder;
  std::string input;
  for (int i = 0; i < 500; ++i) input += std::to_string(i) + "\tsome words of document " + std::to_string(i * i) + "\n";
  IndexJob job;
  job.corpus = "tsv";
  job.inputs = {folder.write("docs.tsv", input).string()};
  job.index = folder / "index";
  job.commit_every = 100;
  job.quiet = true;
  int asked = 0;
  job.interrupted = [&] { return asked++ == 350; };
  EXPECT_THROW(run_index(job), Error);
  ASSERT_TRUE(verify(job.index).sound());
  std::mt19937 random(22);
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(job.index)) {
    if (file.path().filename().string().starts_with('_')) files.push_back(file.path());
  }
  int tried = 0;
  for (const fs::path& file : files) {
    const std::string good = testing::bytes_of(file);
    for (int trial = 0; trial < 10; ++trial, ++tried) {
      const std::size_t at = random() % good.size();
      flip(folder, file, good, at, random);
      EXPECT_FALSE(verify(job.index).sound()) << file << " byte " << at;
    }
    folder.write(fs::relative(file, folder.path()).string(), good);
  }
  EXPECT_GT(tried, 200);
  // The newest list of segments: the commit before counts, and the report states so.
  fs::path newest;
  for (const auto& file : fs::directory_iterator(job.index)) {
    if (file.path().filename().string().starts_with("segments_") && file.path() > newest) newest = file.path();
  }
  const std::string good = testing::bytes_of(newest);
  for (int trial = 0; trial < 60; ++trial) {
    flip(folder, newest, good, random() % good.size(), random);
    EXPECT_TRUE(reports(verify(job.index), "commits", Check::Status::note));
  }
  job.interrupted = {};
  job.start = IndexJob::Start::resume;
  const IndexSummary summary = run_index(job);
  EXPECT_EQ(summary.resumed_from, 300);
  EXPECT_NE(summary.recovered.find(newest.filename().string()), std::string::npos) << summary.recovered;
  EXPECT_EQ(summary.documents, 500);
  EXPECT_TRUE(verify(job.index).sound());
}

}  // namespace
}  // namespace relucent::index_tools
