// The check of another program's files takes what Lucene++'s writer and ours write, whatever is in it, for sound.
#include <BooleanClause.h>
#include <gtest/gtest.h>

#include <random>

#include "plugin/index_format/check/segment_check.h"
#include "plugin/index_format/check/structure_notes.h"
#include "plugin/index_format/segments_file.h"
#include "relucent/index_files.h"
#include "tests/support/first_stage_support.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

std::string random_text(std::mt19937& random) {
  std::string text = "common ";
  for (int words = static_cast<int>(random() % 20); words > 0; --words) {
    switch (random() % 5) {
      case 0: text += "often often "; break;
      case 1: text += "\xF0\x9F\x98\x80\xF0\x90\x8D\x88w" + std::to_string(random() % 50) + " "; break;
      case 2: text += "\xEF\xBC\xA1\xCE\xB1" + std::to_string(random() % 50) + " "; break;
      default: text += "word" + std::to_string(random() % 3000) + " ";
    }
  }
  return text;
}

/// Every kind of field that a segment may have: with and without norms, frequencies, vectors; stored or not.
void write_all_kinds(const fs::path& folder, int documents, bool compound, bool delete_some) {
  using Lucene::AbstractField;
  std::mt19937 random(static_cast<unsigned>(documents));
  const auto writer = Lucene::newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder.string())),
                                                             Lucene::newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                             Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
  writer->setUseCompoundFile(compound);
  for (int i = 0; i < documents; ++i) {
    const auto document = Lucene::newLucene<Lucene::Document>();
    const auto field = [&](const wchar_t* name, const std::string& text, AbstractField::Store store,
                           AbstractField::Index index,
                           AbstractField::TermVector vector = AbstractField::TERM_VECTOR_NO) {
      const auto made = Lucene::newLucene<Lucene::Field>(name, to_lucene(text), store, index, vector);
      document->add(made);
      return made;
    };
    field(L"id", std::to_string(i), AbstractField::STORE_YES, AbstractField::INDEX_NOT_ANALYZED_NO_NORMS);
    field(L"contents", random_text(random), AbstractField::STORE_NO, AbstractField::INDEX_ANALYZED);
    if (random() % 2 == 0) {
      field(L"vectors", random_text(random), AbstractField::STORE_YES, AbstractField::INDEX_ANALYZED,
            AbstractField::TERM_VECTOR_WITH_POSITIONS_OFFSETS);
    }
    if (random() % 3 == 0) {
      field(L"bare", random_text(random), AbstractField::STORE_YES, AbstractField::INDEX_ANALYZED)
          ->setOmitTermFreqAndPositions(true);
    }
    if (random() % 4 == 0) field(L"stored", random_text(random), AbstractField::STORE_YES, AbstractField::INDEX_NO);
    writer->addDocument(document);
    if (i == documents / 2) writer->commit();
  }
  if (delete_some) {
    for (int i = 0; i < documents; i += 7) {
      writer->deleteDocuments(Lucene::newLucene<Lucene::Term>(L"id", to_lucene(std::to_string(i))));
    }
  }
  writer->close();
}

TEST(Structure, OfEveryKindOfIndexIsSound) {
  for (const int documents : {1, 15, 16, 17, 300, 5000}) {
    for (const bool compound : {false, true}) {
      for (const bool delete_some : {false, true}) {
        SCOPED_TRACE(std::to_string(documents) + (compound ? " compound" : "") + (delete_some ? " deletions" : ""));
        const TemporaryFolder folder;
        write_all_kinds(folder.path(), documents, compound, delete_some);
        EXPECT_EQ(find_damage(folder.path()), std::vector<std::string>{});
        const auto reader = open_reader(folder.path(), IndexCheck::checksums);
        EXPECT_EQ(reader->maxDoc(), documents);
        EXPECT_TRUE(fs::exists(folder / "relucent.checked"));
      }
    }
  }
}

TEST(Structure, OfOurIndexIsSoundToo) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  std::vector<TestDocument> documents;
  for (int i = 0; i < 6000; ++i) documents.push_back({"d" + std::to_string(i), random_text(random)});
  write_own(folder.path(), documents, 5000);
  for (const auto& entry : check::read_segments_list(folder / segments_files(folder.path()).at(0))) {
    EXPECT_NO_THROW(check::check_segment(folder.path(), entry));
  }
  const auto reader = open_reader(folder.path(), IndexCheck::checksums);
  EXPECT_EQ(reader->maxDoc(), 6000);
  EXPECT_FALSE(fs::exists(folder / "relucent.checked"));
}

// What lies in the index's folder can be forged with it. A copy, or a file changed in place with its time restored, is
// checked; what this machine has checked or written is not checked again.
TEST(Structure, IsNotedOutsideTheIndexForTheseVeryFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1), 0);
  write_own(folder / "own", some_documents(20), 10);
  const auto names = [&](const fs::path& index) {
    std::vector<std::string> all;
    for (const auto& entry : check::read_segments_list(index / segments_files(index).at(0))) {
      const auto files = check::names_of_files(index, entry);
      all.insert(all.end(), files.begin(), files.end());
    }
    return all;
  };
  const auto noted = [&](const fs::path& index) {
    const check::StructureNotes notes(index);
    return notes.has(notes.files(names(index)));
  };
  EXPECT_TRUE(noted(folder / "own"));  // by its writer
  fs::copy(folder / "own", folder / "copy");
  EXPECT_FALSE(noted(folder / "copy"));
  open_reader(folder / "copy");
  EXPECT_TRUE(noted(folder / "copy"));
  const fs::path file = folder / "copy" / names(folder / "copy").at(0);
  const auto time = fs::last_write_time(file);
  std::string bytes = bytes_of(file);
  std::ofstream(file, std::ios::binary | std::ios::in) << bytes;
  fs::last_write_time(file, time);
  EXPECT_FALSE(noted(folder / "copy"));
  open_reader(folder / "copy");
  EXPECT_TRUE(noted(folder / "copy"));
  fs::remove_all(folder / "copy");
  fs::copy(folder / "own", folder / "copy");  // another index under the same name
  EXPECT_FALSE(noted(folder / "copy"));
}

// Rewritten norms and later commits: checked files are not read again, new ones are.
TEST(Structure, IsRememberedPerSegment) {
  const TemporaryFolder folder;
  write_all_kinds(folder.path(), 300, false, false);
  open_reader(folder.path());
  const auto age = fs::last_write_time(folder / "relucent.checked");
  open_reader(folder.path());
  EXPECT_EQ(fs::last_write_time(folder / "relucent.checked"), age);
  const auto writable = Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(folder.path().string())), false);
  writable->setNorm(3, L"contents", 7.0);
  writable->deleteDocument(5);
  writable->close();
  EXPECT_EQ(find_damage(folder.path()), std::vector<std::string>{});
  EXPECT_EQ(open_reader(folder.path())->numDocs(), 299);
  EXPECT_NE(fs::last_write_time(folder / "relucent.checked"), age);
}

}  // namespace
}  // namespace relucent::testing
