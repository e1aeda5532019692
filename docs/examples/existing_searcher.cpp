// A program that keeps its own searcher and query, and adds the second stage as a step of its own.
// Usage: existing_searcher INDEX QUESTION
#include <LuceneHeaders.h>
#include <relucent/english_analyzer.h>
#include <relucent/error.h>
#include <relucent/rescorer.h>
#include <relucent/stored_text.h>

#include <iostream>

using namespace Lucene;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    // The program as it was, with Lucene++'s own scores; any Searcher and any query will do.
    SearcherPtr searcher = newLucene<IndexSearcher>(FSDirectory::open(relucent::to_lucene(argv[1])));
    QueryParserPtr parser =
        newLucene<QueryParser>(LuceneVersion::LUCENE_30, L"contents", newLucene<relucent::EnglishAnalyzer>());
    TopDocsPtr first = searcher->search(parser->parse(relucent::to_lucene(argv[2])), 100);

    // The step that is new. A Rescorer loads the model: keep it, and use it from any thread.
    const relucent::Rescorer rescorer{relucent::Config()};
    relucent::RescoredTopDocsPtr best = rescorer.rescore(searcher, first, argv[2], 5);
    for (int32_t i = 0; i < best->scoreDocs.size(); ++i) {
      auto hit = boost::dynamic_pointer_cast<relucent::RescoredHit>(best->scoreDocs[i]);
      std::cout << i + 1 << '\t' << relucent::stored_text(searcher->doc(hit->doc), "id").value_or("") << '\t'
                << hit->score << "\tbefore: rank " << hit->first_stage_rank << ", " << hit->first_stage_score << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  } catch (LuceneException& error) {
    std::cerr << StringUtils::toUTF8(error.getError()) << '\n';
    return 1;
  }
  return 0;
}
