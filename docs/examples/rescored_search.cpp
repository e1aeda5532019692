// A plain Lucene++ program: searches an index for a question and prints the best hits.
// Usage: plain_search INDEX QUESTION
#include <LuceneHeaders.h>

#include <iostream>

#include "relucent/english_analyzer.h"
#include "relucent/open_searcher.h"

using namespace Lucene;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  IndexSearcherPtr searcher = relucent::openSearcher(argv[1], "config/cpu.toml");
  AnalyzerPtr analyzer = newLucene<relucent::EnglishAnalyzer>();  // the index's
  QueryParserPtr parser = newLucene<QueryParser>(LuceneVersion::LUCENE_30, L"contents", analyzer);
  TopDocsPtr hits = searcher->search(parser->parse(StringUtils::toUnicode(argv[2])), 5);
  for (int32_t i = 0; i < hits->scoreDocs.size(); ++i) {
    DocumentPtr document = searcher->doc(hits->scoreDocs[i]->doc);
    std::cout << i + 1 << '\t' << hits->scoreDocs[i]->score << '\t' << StringUtils::toUTF8(document->get(L"id"))
              << '\n';
  }
  return 0;
}
