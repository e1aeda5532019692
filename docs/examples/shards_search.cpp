// Searches two indexes by BM25 as if they were one: each scores with the statistics of both.
// Usage: shards_search INDEX1 INDEX2 QUESTION
#include <relucent/collection_statistics.h>
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <algorithm>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    relucent::Config config;
    config.rescorer.enabled = false;  // each shard would rescore its own best hits
    const relucent::SearchSession first(argv[1], config, relucent::QuerySyntax::words);
    const relucent::SearchSession second(argv[2], config, relucent::QuerySyntax::words);
    relucent::CollectionStatistics both = first.statistics(argv[3]);
    both += second.statistics(argv[3]);
    const relucent::CollectionStatisticsScope scope(both);  // for searches on this thread
    std::vector<relucent::SearchHit> hits;
    for (const relucent::SearchSession* shard : {&first, &second}) {
      const auto found = shard->search(argv[3], 5, relucent::HitTexts::none);
      hits.insert(hits.end(), found.hits.begin(), found.hits.end());
    }
    // Stable: equal scores keep the shards' order, as in one index of both.
    std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    hits.resize(std::min<std::size_t>(hits.size(), 5));
    for (const relucent::SearchHit& hit : hits) std::cout << hit.id << '\t' << hit.score << '\n';
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
