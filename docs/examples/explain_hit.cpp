// Explains how the best hit got its score: BM25's part, the model's part and how they were combined.
// Usage: explain_hit INDEX QUESTION
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <iostream>
#include <string>

void print(const relucent::SearchExplanation& part, std::size_t depth) {
  std::cout << std::string(2 * depth, ' ') << part.value << "  " << part.description << '\n';
  for (const relucent::SearchExplanation& detail : part.details) print(detail, depth + 1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    relucent::Config config;
    config.rescorer.score_mode = relucent::ScoreMode::total;  // both scores count
    const relucent::SearchSession session(argv[1], config, relucent::QuerySyntax::words);
    relucent::SearchRequest request;
    request.query = argv[2];
    request.hits = 1;
    request.explain = true;  // from the scores of this search: nothing is scored again
    const auto found = session.search(request);
    for (const relucent::SearchHit& hit : found.hits) {
      std::cout << hit.id << '\t' << hit.score << '\n';
      print(*hit.explanation, 0);
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
