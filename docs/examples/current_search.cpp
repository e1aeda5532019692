// A program that stays on while its index changes: answers questions from standard input, one per line.
// Build:   g++ -std=c++20 current_search.cpp -o current_search $(pkg-config --cflags --libs relucent liblucene++)
// Usage:   current_search INDEX
#include <relucent/searcher_manager.h>
#include <relucent/stored_text.h>
#include <relucent/text_query.h>

#include <iostream>
#include <string>

#include "relucent/error.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  relucent::SearcherManager manager(argv[1], relucent::Config());
  for (std::string question; std::getline(std::cin, question);) {
    try {
      manager.maybeRefresh();
    } catch (const relucent::Error& error) {
      std::cerr << error.what() << '\n';  // the old searcher remains
    }
    const relucent::ManagedSearcher current = manager.acquire();
    const auto hits = current.searcher->search(relucent::makeTextQuery(question, *current.config), 3);
    std::cout << question << " (" << current.commit << ")\n";
    for (const auto& hit : hits->scoreDocs) {
      const auto document = current.searcher->doc(hit->doc);
      std::cout << hit->score << '\t' << relucent::stored_text(document, "id").value_or("") << '\n';
    }
  }
  return 0;
}
