#pragma once

#include <LuceneHeaders.h>
#include <SerialMergeScheduler.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/open_searcher.h"
#include "relucent/rescorer.h"
#include "relucent/rescoring_searcher.h"
#include "relucent/stored_text.h"
#include "tests/support/number_scorer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/term_query.h"

namespace relucent::testing {

using Lucene::newLucene;

struct StoredDocument {
  std::string id;
  std::optional<std::string> text;  ///< stored; none: the document has no such field
  std::string contents;             ///< indexed, words between spaces
};

/// An index as any Lucene++ program would write it, words between spaces being terms.
class SmallIndex {
 public:
  explicit SmallIndex(const std::vector<StoredDocument>& documents) {
    const auto writer = newLucene<Lucene::IndexWriter>(Lucene::FSDirectory::open(to_lucene(folder_.path().string())),
                                                       newLucene<Lucene::WhitespaceAnalyzer>(), true,
                                                       Lucene::IndexWriter::MaxFieldLengthUNLIMITED);
    writer->setMergeScheduler(newLucene<Lucene::SerialMergeScheduler>());
    for (const auto& document : documents) {
      const auto entry = newLucene<Lucene::Document>();
      entry->add(newLucene<Lucene::Field>(L"id", to_lucene(document.id), Lucene::Field::STORE_YES,
                                          Lucene::Field::INDEX_NOT_ANALYZED_NO_NORMS));
      if (document.text) {
        entry->add(newLucene<Lucene::Field>(L"text", to_lucene(*document.text), Lucene::Field::STORE_YES,
                                            Lucene::Field::INDEX_NO));
      }
      entry->add(newLucene<Lucene::Field>(L"contents", to_lucene(document.contents), Lucene::Field::STORE_NO,
                                          Lucene::Field::INDEX_ANALYZED));
      writer->addDocument(entry);
    }
    writer->close();
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  Lucene::IndexReaderPtr reader() const {
    return Lucene::IndexReader::open(Lucene::FSDirectory::open(to_lucene(folder_.path().string())), true);
  }

 private:
  TemporaryFolder folder_;
};

inline Lucene::IndexSearcherPtr rescoring_searcher(const SmallIndex& index, const Config& config,
                                                   const std::shared_ptr<const Scorer>& scorer) {
  return newLucene<RescoringSearcher>(index.reader(), config, std::make_shared<Rescorer>(config, scorer));
}

inline Lucene::IndexSearcherPtr bm25_searcher(const SmallIndex& index, const Config& config = small_config()) {
  return newLucene<BM25Searcher>(index.reader(), config.first_stage, config.index);
}

inline RescoredTopDocsPtr rescored(const Lucene::TopDocsPtr& answer) {
  const auto result = boost::dynamic_pointer_cast<RescoredTopDocs>(answer);
  if (!result) throw std::runtime_error("the answer is no RescoredTopDocs");
  return result;
}

inline RescoredHitPtr rescored_hit(const Lucene::TopDocsPtr& answer, std::int32_t i) {
  return boost::dynamic_pointer_cast<RescoredHit>(answer->scoreDocs[i]);
}

inline std::vector<std::int32_t> documents_of(const Lucene::TopDocsPtr& answer) {
  std::vector<std::int32_t> documents;
  for (const auto& hit : answer->scoreDocs) documents.push_back(hit->doc);
  return documents;
}

inline std::vector<double> scores_of(const Lucene::TopDocsPtr& answer) {
  std::vector<double> scores;
  for (const auto& hit : answer->scoreDocs) scores.push_back(hit->score);
  return scores;
}

/// Ten documents that all contain "word"; BM25 ranks them 0, 1, 2, ... (each is a word longer than the one before); the
/// scorer's numbers are those given, none where the text is missing.
inline std::vector<StoredDocument> ten_documents(const std::vector<std::optional<std::string>>& texts) {
  std::vector<StoredDocument> documents;
  std::string contents = "word";
  for (std::size_t i = 0; i < 10; ++i) {
    documents.push_back({"d" + std::to_string(i), i < texts.size() ? texts[i] : std::nullopt, contents});
    contents += " other" + std::to_string(i);
  }
  return documents;
}

}  // namespace relucent::testing
