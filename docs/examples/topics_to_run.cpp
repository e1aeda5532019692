// Answers a file of topics (id, tab, question) on several threads and writes a TREC run.
// Usage: topics_to_run INDEX TOPICS.tsv > model.run
#include <relucent/error.h>
#include <relucent/search_session.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::pair<std::string, std::string>> topics;
  std::ifstream in(argv[2]);
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) topics.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  try {
    relucent::Config config;
    config.rescorer.threads = 1;  // per query, as several queries are answered at the same time
    const relucent::SearchSession session(argv[1], config, relucent::QuerySyntax::words);
    std::vector<relucent::SearchResult> results(topics.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < topics.size(); i = next++) {
        try {
          results[i] = session.search(topics[i].second, 100, relucent::HitTexts::none);
        } catch (const relucent::Error& error) {
          std::cerr << topics[i].first << ": " << error.what() << '\n';
        }
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
    threads.clear();  // waits for all of them
    for (std::size_t i = 0; i < topics.size(); ++i) {
      for (const relucent::SearchHit& hit : results[i].hits) {
        std::cout << topics[i].first << " Q0 " << hit.id << ' ' << hit.rank << ' ' << hit.score << " relucent\n";
      }
    }
  } catch (const relucent::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
