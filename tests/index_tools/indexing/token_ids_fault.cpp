// What verify finds in stored token ids that are not what they should be.
#include <LuceneHeaders.h>
#include <SerialMergeScheduler.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "index_tools/indexing/stored_token_ids.h"
#include "index_tools/indexing/verify.h"
#include "plugin/index_format/token_ids.h"
#include "relucent/english_analyzer.h"
#include "relucent/index_builder.h"
#include "relucent/stored_text.h"
#include "tests/support/indexing_support.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr const char* kModel = "model/relucent-minilm-l6-w4";

Lucene::FieldPtr bytes_field(const char* name, const std::string& bytes) {
  const auto array = Lucene::ByteArray::newInstance(static_cast<std::int32_t>(bytes.size()));
  std::memcpy(array.get(), bytes.data(), bytes.size());
  return Lucene::newLucene<Lucene::Field>(to_lucene(name), array, Lucene::AbstractField::STORE_YES);
}

/// Adds a document of the same text "a word" to an index, with these token ids (none where empty), as another program
/// might.
void add_by_lucene(const fs::path& index, const std::string& id, const std::string& token_ids) {
  using Lucene::AbstractField;
  const auto directory = Lucene::FSDirectory::open(to_lucene(index.string()));
  const auto reader = Lucene::IndexReader::open(directory, true);
  const auto user_data = reader->getCommitUserData();
  reader->close();
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(directory, Lucene::newLucene<EnglishAnalyzer>(), false,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setMergeScheduler(Lucene::newLucene<Lucene::SerialMergeScheduler>());
  const auto document = Lucene::newLucene<Lucene::Document>();
  document->add(Lucene::newLucene<Lucene::Field>(L"id", to_lucene(id), AbstractField::STORE_YES,
                                                 AbstractField::INDEX_NOT_ANALYZED_NO_NORMS));
  document->add(bytes_field("text", "a word"));
  if (!token_ids.empty()) document->add(bytes_field(kTokenIdsField, token_ids));
  document->add(
      Lucene::newLucene<Lucene::Field>(L"contents", L"a word", AbstractField::STORE_NO, AbstractField::INDEX_ANALYZED));
  writer->addDocument(document);
  writer->commit(user_data);
  writer->close();
}

Check::Status status_of(const VerifyReport& report, const std::string& name, std::size_t which) {
  for (const Check& check : report.checks) {
    if (check.name == name && which-- == 0) return check.status;
  }
  ADD_FAILURE() << "no check " << name;
  return Check::Status::note;
}

TEST(StoredTokenIdsVerified, WrongMissingAndUnreadableOnesAreFound) {
  const TemporaryFolder folder;
  const fs::path index = folder / "index";
  IndexBuilder::Options options;
  options.token_ids_of = kModel;
  const auto builder = IndexBuilder::open(index, IndexBuilder::Mode::create, options);
  for (int i = 0; i < 5; ++i) builder->add(std::to_string(i), "a word");
  builder->close();
  const auto read = [&] { return read_token_ids(index, {}, kModel, true); };
  const std::string right("\x00\x0D\x04\xD5\x0A", 5);  // 1037 2773

  EXPECT_EQ(read().tokenizer.size(), 16U);
  EXPECT_TRUE(read().recomputed);
  add_by_lucene(index, "right", right);
  EXPECT_EQ(read().different.count + read().unreadable.count, 0);
  add_by_lucene(index, "wrong", std::string("\x00\x0D\x04\xD6\x0A", 5));
  EXPECT_EQ(read().different.examples, (std::vector<std::string>{"document 6"}));
  EXPECT_EQ(read().unreadable.count, 0);
  add_by_lucene(index, "cut", right.substr(0, 4));
  add_by_lucene(index, "missing", "");
  EXPECT_EQ(read().unreadable.examples, (std::vector<std::string>{"document 7", "document 8"}));

  VerifyJob job;
  job.index = index;
  job.quiet = true;
  const VerifyReport report = verify_index(job);
  EXPECT_EQ(status_of(report, "token ids", 0), Check::Status::damaged);
  EXPECT_EQ(status_of(report, "token ids", 1), Check::Status::damaged);
  EXPECT_FALSE(report.sound());
}

}  // namespace
}  // namespace relucent::index_tools
