#include <AttributeSource.h>
#include <DocIdSet.h>
#include <DocumentsWriter.h>
#include <FieldCache.h>
#include <IndexFileNameFilter.h>
#include <IndexFileNames.h>
#include <MultiTermQuery.h>
#include <NoLockFactory.h>
#include <Similarity.h>
#include <Sort.h>
#include <SortField.h>
#include <StandardTokenizer.h>
#include <StopAnalyzer.h>
#include <TermVectorOffsetInfo.h>
#include <Token.h>
#include <TopDocsCollector.h>
#include <TopFieldCollector.h>

// Lucene++ before 3.0.9 creates the objects that all threads share at their first use, without a lock
// (github.com/luceneplusplus/LucenePlusPlus/issues/181): threads whose first uses coincide, such as the first queries
// of a server, corrupt the reference counts. Here they are created as the library is loaded, except those that start
// threads and the empty list of term positions, which is private. The linker keeps this file because CMakeLists.txt
// names the symbol.
extern "C" bool relucent_lucene_shared_objects_created;

namespace {

struct NoTopDocs : Lucene::TopDocsCollector {
  using TopDocsCollector::EMPTY_TOPDOCS;
};
struct NoScoreDocs : Lucene::TopFieldCollector {
  using TopFieldCollector::EMPTY_SCOREDOCS;
};

bool create_shared_objects() {
  using namespace Lucene;
  AttributeFactory::DEFAULT_ATTRIBUTE_FACTORY();
  Token::TOKEN_ATTRIBUTE_FACTORY();
  StandardTokenizer::TOKEN_TYPES();
  StopAnalyzer::ENGLISH_STOP_WORDS_SET();

  MultiTermQuery::CONSTANT_SCORE_FILTER_REWRITE();
  MultiTermQuery::SCORING_BOOLEAN_QUERY_REWRITE();
  MultiTermQuery::CONSTANT_SCORE_BOOLEAN_QUERY_REWRITE();
  MultiTermQuery::CONSTANT_SCORE_AUTO_REWRITE_DEFAULT();

  Similarity::getNormDecoder();
  Similarity::getDefault();
  Sort::RELEVANCE();
  Sort::INDEXORDER();
  SortField::FIELD_SCORE();
  SortField::FIELD_DOC();
  DocIdSet::EMPTY_DOCIDSET();
  NoTopDocs::EMPTY_TOPDOCS();
  NoScoreDocs::EMPTY_SCOREDOCS();

  FieldCache::DEFAULT();
  FieldCache::DEFAULT_BYTE_PARSER();
  FieldCache::DEFAULT_INT_PARSER();
  FieldCache::DEFAULT_LONG_PARSER();
  FieldCache::DEFAULT_DOUBLE_PARSER();
  FieldCache::NUMERIC_UTILS_INT_PARSER();
  FieldCache::NUMERIC_UTILS_LONG_PARSER();
  FieldCache::NUMERIC_UTILS_DOUBLE_PARSER();

  IndexFileNameFilter::getFilter();
  IndexFileNames::INDEX_EXTENSIONS();
  IndexFileNames::INDEX_EXTENSIONS_IN_COMPOUND_FILE();
  IndexFileNames::STORE_INDEX_EXTENSIONS();
  IndexFileNames::NON_STORE_INDEX_EXTENSIONS();
  IndexFileNames::COMPOUND_EXTENSIONS();
  IndexFileNames::VECTOR_EXTENSIONS();
  TermVectorOffsetInfo::EMPTY_OFFSET_INFO();
  DocumentsWriter::getDefaultIndexingChain();
  NoLockFactory::getNoLockFactory()->makeLock(String());  // the one lock of this factory
  return true;
}

}  // namespace

bool relucent_lucene_shared_objects_created = create_shared_objects();
