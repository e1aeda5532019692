// Searches an index for a question without Lucene++'s types, and prints the best hits.
// Usage: session_search INDEX QUESTION
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const relucent::SearchSession session(argv[1], relucent::Config(), relucent::QuerySyntax::words);
    const relucent::SearchResult found = session.search(argv[2], 5, relucent::HitTexts::whole);
    for (const relucent::SearchHit& hit : found.hits) {
      std::cout << hit.rank << '\t' << hit.id << '\t' << hit.score << '\t' << hit.text << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
