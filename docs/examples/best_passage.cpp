// Finds the part of each long document that answers the question best, and shows it as the hit's snippet.
// Usage: best_passage INDEX QUESTION
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    relucent::Config config;
    // Texts that are longer than the model's input are scored sentence group by sentence group; the best one counts.
    config.rescorer.long_documents = relucent::LongDocuments::maxp;
    config.rescorer.chunk_by = relucent::ChunkBy::sentences;
    config.rescorer.chunk = config.rescorer.stride = 100;  // word pieces
    const relucent::SearchSession session(argv[1], config, relucent::QuerySyntax::words);
    // As much of each text as reaches to the end of its passage.
    const auto found = session.search(argv[2], 3, relucent::HitTexts::beginnings);
    for (const relucent::SearchHit& hit : found.hits) {
      std::cout << hit.rank << '\t' << hit.id << '\t' << hit.score << '\n';
      if (!hit.passage) continue;
      std::cout << "  " << (hit.passage->begin > 0 ? "... " : "") << hit.passage->text
                << (hit.passage->ends_field ? "" : " ...") << '\n';
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
