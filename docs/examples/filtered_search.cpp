// Rescores only candidates that another query accepts: the filter holds before the rescore window is taken.
// Usage: filtered_search INDEX QUESTION FIELD PREFIX      (the documents whose FIELD begins with PREFIX)
#include <LuceneHeaders.h>
#include <PrefixQuery.h>
#include <QueryWrapperFilter.h>
#include <relucent/error.h>
#include <relucent/open_searcher.h>
#include <relucent/stored_text.h>
#include <relucent/text_query.h>

#include <iostream>

using namespace Lucene;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    const relucent::Config config;
    IndexSearcherPtr searcher = relucent::openSearcher(argv[1], config);
    TermPtr begins = newLucene<Term>(relucent::to_lucene(argv[3]), relucent::to_lucene(argv[4]));
    FilterPtr filter = newLucene<QueryWrapperFilter>(newLucene<PrefixQuery>(begins));
    TopDocsPtr hits = searcher->search(relucent::makeTextQuery(argv[2], config), filter, 5);
    std::cout << hits->totalHits << " documents\n";
    for (int32_t i = 0; i < hits->scoreDocs.size(); ++i) {
      DocumentPtr document = searcher->doc(hits->scoreDocs[i]->doc);
      std::cout << i + 1 << '\t' << relucent::stored_text(document, "id").value_or("") << '\t'
                << hits->scoreDocs[i]->score << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
