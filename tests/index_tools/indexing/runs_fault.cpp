// Runs of the indexer that stop and resume, and what verify finds.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "index_tools/indexing/indexer.h"
#include "index_tools/indexing/manifest.h"
#include "index_tools/indexing/verify.h"
#include "relucent/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;

std::string lines(int count, int first = 0) {
  std::mt19937 random(5);
  const std::vector<std::string> words = {"index",  "river", "quick",   "stone", "lamp",
                                          "winter", "the",   "running", "boats"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "d" + std::to_string(first + i) + "\t";
    for (std::size_t k = random() % 12; k > 0; --k) text += words[random() % words.size()] + " ";
    text += "\n";
  }
  return text;
}

class IndexRuns : public ::testing::Test {
 protected:
  IndexJob job(const std::string& input = "docs.tsv") const {
    IndexJob made;
    made.corpus = "tsv";
    made.inputs = {(folder_ / input).string()};
    made.index = folder_ / "index";
    made.commit_every = 100;
    made.quiet = true;
    return made;
  }
  VerifyReport verify(const std::string& corpus = {}) const {
    VerifyJob made;
    made.index = folder_ / "index";
    made.corpus = corpus;
    made.quiet = true;
    return verify_index(made);
  }
  static const Check* find(const VerifyReport& report, const std::string& name, Check::Status status) {
    for (const Check& check : report.checks) {
      if (check.name == name && check.status == status) return &check;
    }
    return nullptr;
  }

  TemporaryFolder folder_;
};

TEST_F(IndexRuns, AFinishedIndexIsSoundAndCounted) {
  folder_.write("docs.tsv", lines(350));
  for (const int threads : {1, 4}) {
    IndexJob whole = job();
    whole.threads = threads;
    whole.start = IndexJob::Start::overwrite;
    const IndexSummary summary = run_index(whole);
    EXPECT_EQ(summary.documents, 350);
    EXPECT_EQ(summary.totals.documents, 350);
    EXPECT_GT(summary.totals.tokens, 350);
    EXPECT_GT(summary.index_bytes, 0);
    const VerifyReport report = verify();
    EXPECT_TRUE(report.sound());
    EXPECT_EQ(report.documents, 350);
    EXPECT_EQ(report.corpus, "tsv");
    for (const char* name : {"checksums", "documents", "texts", "ids", "statistics"}) {
      EXPECT_NE(find(report, name, Check::Status::ok), nullptr) << name;
    }
  }
}

TEST_F(IndexRuns, AnExistingIndexIsNotTouchedUnlessAsked) {
  folder_.write("docs.tsv", lines(10));
  run_index(job());
  const Error error = expect_error(ErrorKind::usage, [&] { run_index(job()); });
  EXPECT_NE(error.remedy().find("--resume"), std::string::npos) << error.what();
  EXPECT_NE(error.remedy().find("--overwrite"), std::string::npos) << error.what();
  EXPECT_TRUE(verify().sound());
}

TEST_F(IndexRuns, InterruptedAnywhereItContinuesToTheSameResult) {
  folder_.write("docs.tsv", lines(350));
  const IndexSummary whole = run_index(job());
  for (const int stop_after : {0, 1, 99, 100, 101, 349}) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(stop_after);
      fs::remove_all(folder_ / "index");
      IndexJob part = job();
      part.threads = threads;
      int asked = 0;
      part.interrupted = [&] { return asked++ == stop_after; };
      const Error error = expect_error(ErrorKind::interrupted, [&] { run_index(part); });
      EXPECT_NE(error.remedy().find("--resume"), std::string::npos);
      const VerifyReport unfinished = verify();
      EXPECT_TRUE(unfinished.sound());
      EXPECT_EQ(unfinished.documents, stop_after);
      EXPECT_NE(find(unfinished, "progress", Check::Status::note), nullptr);

      IndexJob rest = job();
      rest.threads = threads;
      rest.start = IndexJob::Start::resume;
      const IndexSummary resumed = run_index(rest);
      EXPECT_EQ(resumed.resumed_from, stop_after);
      EXPECT_EQ(resumed.documents, whole.documents);
      EXPECT_EQ(resumed.totals.tokens, whole.totals.tokens);
      EXPECT_EQ(resumed.totals.documents_with_tokens, whole.totals.documents_with_tokens);
      EXPECT_TRUE(verify().sound());
    }
  }
}

TEST_F(IndexRuns, ResumingAFinishedIndexChangesNothing) {
  folder_.write("docs.tsv", lines(30));
  run_index(job());
  const std::string manifest = testing::bytes_of(folder_ / "index" / Manifest::kFileName);
  IndexJob again = job();
  again.start = IndexJob::Start::resume;
  EXPECT_EQ(run_index(again).documents, 30);
  EXPECT_EQ(testing::bytes_of(folder_ / "index" / Manifest::kFileName), manifest);
}

TEST_F(IndexRuns, ResumingWhereNothingWasBegunBegins) {
  folder_.write("docs.tsv", lines(30));
  IndexJob first = job();
  first.start = IndexJob::Start::resume;
  EXPECT_EQ(run_index(first).documents, 30);
}

TEST_F(IndexRuns, ResumingRefusesOtherInputCorpusAndSettings) {
  folder_.write("docs.tsv", lines(300));
  IndexJob part = job();
  int asked = 0;
  part.interrupted = [&] { return asked++ == 150; };
  expect_error(ErrorKind::interrupted, [&] { run_index(part); });

  IndexJob rest = job();
  rest.start = IndexJob::Start::resume;
  const auto refused = [&](const IndexJob& other) {
    const Error error = expect_error(ErrorKind::usage, [&] { run_index(other); });
    return std::string(error.what());
  };
  IndexJob other = rest;
  other.corpus = "jsonl";
  EXPECT_NE(refused(other).find("--corpus tsv"), std::string::npos);
  other = rest;
  other.duplicates = Duplicates::keep;
  EXPECT_NE(refused(other).find("--duplicates"), std::string::npos);
  other = rest;
  other.names = {"*.x"};
  refused(other);

  const auto before = fs::last_write_time(folder_ / "docs.tsv");
  folder_.write("docs.tsv", lines(301));
  EXPECT_NE(refused(rest).find("size"), std::string::npos);
  std::string changed = lines(300);
  changed[5] = 'X';
  folder_.write("docs.tsv", changed);
  EXPECT_NE(refused(rest).find("content"), std::string::npos);
  folder_.write("docs.tsv", lines(300));
  fs::last_write_time(folder_ / "docs.tsv", before + std::chrono::seconds(2));
  EXPECT_NE(refused(rest).find("modification time"), std::string::npos);
  rest.any_input = true;
  EXPECT_EQ(run_index(rest).documents, 300);
  EXPECT_TRUE(verify().sound());
}

TEST_F(IndexRuns, ResumingWithLessInputThanIndexedIsAnError) {
  folder_.write("docs.tsv", lines(300));
  IndexJob part = job();
  int asked = 0;
  part.interrupted = [&] { return asked++ == 150; };
  expect_error(ErrorKind::interrupted, [&] { run_index(part); });
  folder_.write("docs.tsv", lines(100));
  IndexJob rest = job();
  rest.start = IndexJob::Start::resume;
  rest.any_input = true;
  expect_error(ErrorKind::invalid_data, [&] { run_index(rest); });
}

TEST_F(IndexRuns, DuplicateIdsAreDealtWithAsAsked) {
  folder_.write("docs.tsv", "a\tone\nb\ttwo\na\tthree\nb\tfour\nc\tfive\n");
  const Error error = expect_error(ErrorKind::invalid_data, [&] { run_index(job()); });
  EXPECT_TRUE(error.place().ends_with("docs.tsv:3")) << error.place();
  EXPECT_NE(error.remedy().find("skip-later"), std::string::npos);

  IndexJob skip = job();
  skip.start = IndexJob::Start::overwrite;
  skip.duplicates = Duplicates::skip_later;
  const IndexSummary skipped = run_index(skip);
  EXPECT_EQ(skipped.documents, 3);
  EXPECT_EQ(skipped.duplicates, 2);
  ASSERT_EQ(skipped.duplicate_examples.size(), 2u);
  EXPECT_TRUE(verify().sound());
  EXPECT_NE(find(verify(), "ids", Check::Status::ok), nullptr);

  IndexJob keep = skip;
  keep.duplicates = Duplicates::keep;
  EXPECT_EQ(run_index(keep).documents, 5);
  EXPECT_TRUE(verify().sound());
  EXPECT_NE(find(verify(), "ids", Check::Status::note), nullptr);
}

TEST_F(IndexRuns, AFewMalformedRecordsAreSkippedAndMoreAreAnError) {
  folder_.write("docs.tsv", lines(1500) + "broken\n");
  const IndexSummary summary = run_index(job());
  EXPECT_EQ(summary.documents, 1500);
  EXPECT_EQ(summary.report.malformed_records(), 1);

  folder_.write("docs.tsv", lines(500) + "broken\n");
  IndexJob again = job();
  again.start = IndexJob::Start::overwrite;
  const Error error = expect_error(ErrorKind::invalid_data, [&] { run_index(again); });
  EXPECT_NE(error.problem().find("docs.tsv:501"), std::string::npos) << error.what();
  EXPECT_NE(find(verify(), "progress", Check::Status::note), nullptr);
  again.start = IndexJob::Start::resume;
  again.max_malformed = 0.01;
  EXPECT_EQ(run_index(again).documents, 500);
  EXPECT_TRUE(verify().sound());
}

TEST_F(IndexRuns, InputWithoutADocumentIsAnError) {
  folder_.write("docs.tsv", "\n\n");
  expect_error(ErrorKind::invalid_data, [&] { run_index(job()); });
}

TEST_F(IndexRuns, VerifyComparesWithTheWholeCorpusWhenAsked) {
  folder_.write("doc-text", "1\none document\n   /\n");
  IndexJob part = job("doc-text");
  part.corpus = "vaswani";
  run_index(part);
  EXPECT_TRUE(verify().sound());
  EXPECT_NE(find(verify(), "corpus", Check::Status::note), nullptr);
  EXPECT_TRUE(verify().matches());
  const VerifyReport partial = verify("vaswani");
  EXPECT_TRUE(partial.sound());
  EXPECT_FALSE(partial.matches());
  const Check* corpus = find(partial, "corpus", Check::Status::mismatch);
  ASSERT_NE(corpus, nullptr);
  EXPECT_EQ(corpus->detail, "partial: 1 of the 11,429 documents of vaswani");
  EXPECT_NE(find(verify("cranfield"), "corpus", Check::Status::mismatch), nullptr);
  expect_error(ErrorKind::usage, [&] { verify("no-such-corpus"); });
}

TEST_F(IndexRuns, VerifyFindsAFlippedByteAnywhereInEveryFile) {
  folder_.write("docs.tsv", lines(250));
  run_index(job());
  std::mt19937 random(6);
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder_ / "index")) {
    if (file.file_size() > 0) files.push_back(file.path());
  }
  ASSERT_GT(files.size(), 5u);
  int tried = 0;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (!in_manifest(name) && name != Manifest::kFileName) continue;
    const std::string bytes = testing::bytes_of(file);
    for (int trial = 0; trial < 32; ++trial) {
      const std::size_t at = trial == 0 ? 0 : trial == 1 ? bytes.size() - 1 : random() % bytes.size();
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 + random() % 255));
      folder_.write("index/" + name, damaged);
      const VerifyReport report = verify();
      EXPECT_FALSE(report.sound()) << name << " byte " << at;
      ++tried;
    }
    folder_.write("index/" + name, bytes);
  }
  EXPECT_GE(tried, 300);
  EXPECT_TRUE(verify().sound());
}

TEST_F(IndexRuns, VerifyFindsMissingAndCutOffFiles) {
  folder_.write("docs.tsv", lines(250));
  run_index(job());
  const Manifest manifest = read_manifest(folder_ / "index").value();
  for (const auto& [name, entry] : manifest.files) {
    const std::string bytes = testing::bytes_of(folder_ / "index" / name);
    fs::remove(folder_ / "index" / name);
    EXPECT_NE(find(verify(), "checksums", Check::Status::damaged), nullptr) << name;
    if (!bytes.empty()) {
      folder_.write("index/" + name, std::string_view(bytes).substr(0, bytes.size() / 2));
      EXPECT_NE(find(verify(), "checksums", Check::Status::damaged), nullptr) << name;
    }
    folder_.write("index/" + name, bytes);
  }
  EXPECT_TRUE(verify().sound());
}

TEST_F(IndexRuns, VerifyOfNothingIsAnError) {
  expect_error(ErrorKind::io, [&] { verify(); });
  fs::create_directory(folder_ / "index");
  const VerifyReport report = [&] {
    try {
      return verify();
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal);
      return VerifyReport{"", 0, {{"contents", Check::Status::damaged, error.what()}}};
    }
  }();
  EXPECT_FALSE(report.sound());
}

}  // namespace
}  // namespace relucent::index_tools
