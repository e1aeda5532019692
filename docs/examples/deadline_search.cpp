// A request with a deadline of its own, and one that another thread ends.
// Usage: deadline_search INDEX QUESTION MILLISECONDS
#include <relucent/error.h>
#include <relucent/search_session.h>
#include <relucent/stop_scope.h>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const relucent::SearchSession session(argv[1], relucent::Config(), relucent::QuerySyntax::words);
    {
      relucent::StopSignal signal;
      signal.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::stoi(argv[3]));
      const relucent::StopScope scope(signal);  // for searches on this thread
      const auto found = session.search(argv[2], 5, relucent::HitTexts::none);
      // After a missed deadline the hits are all there, in BM25's order.
      std::cout << to_string(found.status) << '\t' << found.hits.size() << " hits\t" << found.reason << '\n';
    }
    std::stop_source client;
    relucent::StopSignal signal;
    signal.stop = client.get_token();
    const relucent::StopScope scope(signal);
    std::thread([&] { client.request_stop(); }).join();  // the client has left
    session.search(argv[2], 5, relucent::HitTexts::none);
  } catch (const relucent::Error& error) {
    if (error.kind() == relucent::ErrorKind::interrupted) {
      std::cout << "interrupted\n";
      return 0;
    }
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 1;
}
