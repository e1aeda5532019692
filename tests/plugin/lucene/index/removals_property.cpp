// Documents that are removed and replaced by id, against a list in memory and against an index built without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "plugin/lucene/bm25/similarity.h"
#include "plugin/lucene/index/open_index.h"
#include "relucent/error.h"
#include "relucent/index_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;
using Documents = std::vector<TestDocument>;

std::string random_text(std::mt19937& random) {
  std::string text;
  for (std::size_t words = random() % 9; words > 0; --words) {
    std::size_t word = 1;
    while (word < 5000 && random() % 3 != 0) word = word * 3 + random() % 3;
    text += "word" + std::to_string(word) + " ";
  }
  return text;
}

Documents live_documents(const Lucene::IndexReaderPtr& reader) {
  Documents documents;
  for (std::int32_t i = 0; i < reader->maxDoc(); ++i) {
    if (reader->isDeleted(i)) continue;
    const auto document = reader->document(i);
    documents.push_back({first_stored_text(document, "id").value_or("?"), stored_text(document, "text").value_or("?")});
  }
  return documents;
}

void expect_same(const Documents& found, const Documents& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].id, expected[i].id) << i;
    ASSERT_EQ(found[i].text, expected[i].text) << found[i].id;
  }
}

void remove_from(Documents& documents, const std::string& id) {
  std::erase_if(documents, [&](const TestDocument& document) { return document.id == id; });
}

/// The files of the only segment by extension.
std::map<std::string, std::string> segment_bytes(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.path().filename().string().starts_with('_') || extension == ".sum") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    EXPECT_FALSE(files.contains(extension)) << entry.path();
    files[extension] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

/// Adds, replaces, removes and commits at random; the list holds what must be in the index after a commit.
class Change {
 public:
  Change(const fs::path& folder, int threads, unsigned seed) : folder_(folder), random_(seed) {
    IndexBuilder::Options options;
    options.threads = threads;
    options.buffer_mb = 1;
    builder_ = IndexBuilder::open(folder, IndexBuilder::Mode::create, options);
  }

  void step() {
    const std::string id = "id" + std::to_string(random_() % 3000);
    if (random_() % 5 != 0) {  // put
      const TestDocument document{id, random_text(random_)};
      builder_->remove(id);
      builder_->add(id, document.text);
      remove_from(documents, id);
      documents.push_back(document);
    } else {
      builder_->remove(id);
      remove_from(documents, id);
    }
  }
  void remove_all_before(std::size_t last) {
    for (; last > 0; --last) {
      builder_->remove(documents.front().id);
      documents.erase(documents.begin());
    }
  }
  void commit() {
    builder_->commit({});
    const auto totals = builder_->totals();
    EXPECT_EQ(totals.documents - totals.deleted, static_cast<std::int64_t>(documents.size()));
    opened_ = open_index(folder_, IndexCheck::checksums, opened_);
    expect_same(live_documents(opened_.reader), documents);
    EXPECT_EQ(opened_.reader->numDeletedDocs(), totals.deleted);
  }
  IndexBuilder& builder() { return *builder_; }

  Documents documents;

 private:
  fs::path folder_;
  std::mt19937 random_;
  std::unique_ptr<IndexBuilder> builder_;
  OpenedIndex opened_;
};

TEST(Removals, LeaveTheDocumentsOfAListWhateverTheThreadsAndMerges) {
  for (const int threads : {1, 2, 4}) {
    SCOPED_TRACE(threads);
    TemporaryFolder folder;
    Change change(folder / "changed", threads, static_cast<unsigned>(threads));
    std::mt19937 random(7);
    for (int commit = 0; commit < 40; ++commit) {
      for (std::size_t steps = random() % 300; steps > 0; --steps) change.step();
      if (commit % 13 == 12) change.remove_all_before(change.documents.size() * 3 / 4);
      change.commit();
      if (HasFatalFailure()) return;
    }
    // Statistics count deleted documents until a merge, and then are those of an index that never had them.
    const auto before = open_bm25(folder / "changed")->statistics();
    EXPECT_EQ(before.document_count, change.builder().totals().documents_with_tokens);
    EXPECT_EQ(before.sum_total_term_freq, change.builder().totals().tokens);
    change.builder().merge(1);
    change.builder().close();
    EXPECT_EQ(change.builder().totals().deleted, 0);
    EXPECT_EQ(index_files(folder / "changed").deleted, 0);
    expect_same(live_documents(open_reader(folder / "changed")), change.documents);
    write_own(folder / "fresh", change.documents, change.documents.size());
    EXPECT_TRUE(segment_bytes(folder / "changed") == segment_bytes(folder / "fresh"));
    const auto after = open_bm25(folder / "changed")->statistics(), fresh = open_bm25(folder / "fresh")->statistics();
    EXPECT_EQ(after.document_count, fresh.document_count);
    EXPECT_EQ(after.sum_total_term_freq, fresh.sum_total_term_freq);
    EXPECT_TRUE(find_damage(folder / "changed").empty());
  }
}

TEST(Removals, ScoreAsLuceneDoesWithTheSameDocumentsDeleted) {
  TemporaryFolder folder;
  std::mt19937 random(3);
  Documents documents;
  for (int i = 0; i < 2000; ++i) documents.push_back({"d" + std::to_string(i), random_text(random) + "common"});
  write_own(folder / "own", documents, 500);
  write_own(folder / "other", documents, 500);
  const auto builder = open_builder(folder / "own", IndexBuilder::Mode::append);
  const auto writer = stock_writer(folder / "other", false);
  for (int i = 0; i < 2000; i += 1 + static_cast<int>(random() % 5)) {
    builder->remove("d" + std::to_string(i));
    writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene("d" + std::to_string(i))));
  }
  builder->close();
  writer->close();
  const auto own = open_bm25(folder / "own"), other = open_bm25(folder / "other");
  for (const std::string word : {"common", "word1", "word5", "word16"}) {
    const auto query = term_query(word);
    const auto found = own->search(query, 300), expected = other->search(query, 300);
    ASSERT_EQ(found->totalHits, expected->totalHits);
    ASSERT_EQ(found->scoreDocs.size(), expected->scoreDocs.size());
    for (std::int32_t i = 0; i < found->scoreDocs.size(); ++i) {
      EXPECT_EQ(found->scoreDocs[i]->doc, expected->scoreDocs[i]->doc);
      EXPECT_EQ(found->scoreDocs[i]->score, expected->scoreDocs[i]->score);
    }
  }
}

TEST(Removals, ContinueThoseOfLucene) {
  TemporaryFolder folder;
  Documents documents;
  for (int i = 0; i < 1000; ++i) documents.push_back({"d" + std::to_string(i), "text of " + std::to_string(i)});
  write_own(folder.path(), documents, 400);
  const auto writer = stock_writer(folder.path(), false);
  for (const char* id : {"d3", "d700", "d999"}) {
    writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene(id)));
    remove_from(documents, id);
  }
  writer->close();
  const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  EXPECT_EQ(builder->totals().deleted, 3);
  builder->remove("d4");
  builder->remove("d3");
  remove_from(documents, "d4");
  builder->commit({});
  EXPECT_EQ(builder->removals().documents, 1);
  EXPECT_EQ(builder->removals().unknown, std::vector<std::string>{"d3"});
  expect_same(live_documents(open_reader(folder.path())), documents);
  builder->merge(1);
  builder->close();
  expect_same(live_documents(open_reader(folder.path())), documents);
  EXPECT_EQ(builder->totals().documents, 996);
}

TEST(Removals, OfAllDocumentsLeaveAnEmptyIndexThatGoesOn) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(50), 20);
  auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  for (int i = 0; i < 50; ++i) builder->remove("d" + std::to_string(i));
  builder->close();
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 0);
  EXPECT_EQ(builder->totals().documents, 0) << "nothing is left of segments without documents";
  builder = open_builder(folder.path(), IndexBuilder::Mode::append);
  builder->add("d1", "again");
  builder->close();
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 1);
}

TEST(Removals, ConcernOnlyWhatWasAddedBefore) {
  TemporaryFolder folder;
  const auto builder = open_builder(folder.path(), IndexBuilder::Mode::create);
  builder->add("a", "one");
  builder->remove("a");
  builder->add("a", "two");
  builder->add("b", "three");
  builder->remove("b");
  builder->remove("none");
  builder->commit({});
  EXPECT_EQ(builder->removals().documents, 2);
  EXPECT_EQ(builder->removals().unknown_ids, 1);
  expect_same(live_documents(open_reader(folder.path())), {{"a", "two"}});
  builder->remove("a");  // dropped with the builder
}

TEST(Removals, AreRefusedForWhatCannotBeLookedUp) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(3), 3);
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
    expect_error(ErrorKind::usage, {"empty id"}, [&] { builder->remove(""); });
    expect_error(ErrorKind::invalid_data, {"16383 characters"}, [&] { builder->remove(std::string(17000, 'x')); });
    builder->remove(std::string(100, 'x'));
    builder->close();
  }
  const auto writer = stock_writer(folder.path(), false);
  writer->setSimilarity(Lucene::newLucene<bm25::BM25Similarity>());  // the lengths of an index that can be continued
  add_stock(writer, {"other", "text"});
  writer->close();
  IndexBuilder::Options options;
  options.only_removes = true;
  const auto builder = IndexBuilder::open(folder.path(), IndexBuilder::Mode::append, options);
  expect_error(ErrorKind::unsupported, {"another program"}, [&] { builder->remove("d1"); });
  expect_error(ErrorKind::usage, {"only_removes"}, [&] { builder->add("d1", "text"); });
}

TEST(Removals, OfADamagedListAreNoticed) {
  TemporaryFolder folder;
  write_own(folder.path(), some_documents(40), 40);
  {
    const auto builder = open_builder(folder.path(), IndexBuilder::Mode::append);
    builder->remove("d3");
    builder->close();
  }
  fs::path deletions;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".del") deletions = entry.path();
  }
  ASSERT_FALSE(deletions.empty());
  std::fstream file(deletions, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(0x10);  // another document: the same count
  file.close();
  expect_error(ErrorKind::invalid_data, {".del", "checksum"}, [&] { open_reader(folder.path()); });
}

}  // namespace
}  // namespace relucent::testing
