// The whole server in this process, with an engine that computes something simple: while it reloads and clients come,
// leave midway and read nothing, each answer is right; when it drains, each request is answered or its connection is
// closed.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "relucent/error.h"
#include "server/service.h"
#include "tests/server/empty_engine.h"
#include "tests/server/loopback_client.h"

namespace relucent::server {
namespace {

using testing::connect_to;
using testing::receive;
using testing::request;
using testing::send_all;

/// Scores a text by its length, and an index of one document, which is named after the reload that opened it.
class CountingEngine final : public testing::EmptyEngine {
 public:
  explicit CountingEngine(int number) : number_(number) {}

  RerankScores rerank(std::string_view, std::span<const std::string> texts, const StopSignal& stop) override {
    RerankScores result;
    for (const std::string& text : texts) {
      if (stop.stop.stop_requested()) throw Error(ErrorKind::interrupted, "request", "was stopped", "ask again");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      result.scores.push_back({static_cast<float>(text.size())});
    }
    return result;
  }
  SearchResult search(const SearchOrder& order) override {
    SearchResult result;
    result.query = order.query;
    SearchHit& hit = result.hits.emplace_back();
    hit.id = std::to_string(number_);
    hit.text = std::string(1 << 16, 'x');
    return result;
  }
  std::shared_ptr<Engine> refreshed() override { return std::make_shared<CountingEngine>(number_ + 1); }

 private:
  int number_;
};

ServerConfig small_server() {
  ServerConfig settings;
  settings.port = 0;
  settings.access_log = "/dev/null";
  settings.concurrency = 3;
  settings.drain_timeout = std::chrono::seconds(60);
  return settings;
}

/// A service, on a thread of its own, and how often it has reloaded.
struct Running {
  std::atomic<int> opened = 0;
  std::atomic<bool> draining = false;
  Service service{small_server(),
                  [this](const std::shared_ptr<Engine>&) { return std::make_shared<CountingEngine>(1000 * ++opened); },
                  [](const std::string&) {}, std::chrono::seconds(1)};
  std::promise<std::uint16_t> ready;
  Service::Ended ended;
  std::thread thread{[this] { ended = service.run([this](std::uint16_t port) { ready.set_value(port); }); }};
};

/// Asks in one of several ways until the server closes; how many answers it got.
int ask(Running& server, std::uint16_t port, unsigned seed) {
  std::mt19937 random(seed);
  int answers = 0;
  UniqueFd connection = connect_to(port);
  while (connection) {
    const int earliest = server.opened;
    const bool search = random() % 2 == 0;
    const std::string whole = search
                                  ? request("/search", R"({"query": "q", "texts": "full"})")
                                  : request("/rerank", R"({"query": "q", "texts": ["abc", "a"], "raw_scores": true})");
    const auto way = random() % 8;
    if (way < 3) {  // leaves within its request, before its answer, or within its answer
      send_all(connection, std::string_view(whole).substr(0, way == 0 ? random() % whole.size() : whole.size()));
      if (char byte = 0; way == 2) (void)::recv(connection.get(), &byte, 1, 0);
      connection = connect_to(port);
      continue;
    }
    const bool sent = send_all(connection, whole);
    const std::string answer = sent ? receive(connection) : std::string();
    if (answer.empty()) {
      EXPECT_TRUE(server.draining);  // only then may a connection without a request be closed
      break;
    }
    ++answers;
    if (answer.starts_with("HTTP/1.1 503 ") && server.draining) continue;
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer.substr(0, 300);
    if (!search) {
      EXPECT_NE(answer.find(R"([{"index":0,"score":3.0},{"index":1,"score":1.0}])"), std::string::npos) << answer;
    } else if (const auto id = answer.find(R"("id":")"); id == std::string::npos) {
      ADD_FAILURE() << answer.substr(0, 500);
    } else {
      // The engine of a reload that was complete when the request came, or of a later one.
      const int number = std::stoi(answer.substr(id + 6)) / 1000;
      EXPECT_GE(number, earliest - 1);
      EXPECT_LE(number, server.opened);
    }
  }
  return answers;
}

TEST(ServiceThreads, ReloadsDrainsAndClientsThatLeaveChangeNoAnswer) {
  for (unsigned round = 0; round < 3; ++round) {
    Running server;
    const std::uint16_t port = server.ready.get_future().get();
    std::vector<std::future<int>> clients;
    for (unsigned i = 0; i < 6; ++i) {
      clients.push_back(std::async(std::launch::async, [&, i] { return ask(server, port, 10 * round + i); }));
    }
    for (int reload = 0; reload < 10; ++reload) {
      const int before = server.opened;
      ::kill(::getpid(), SIGHUP);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (server.opened == before && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      EXPECT_GT(server.opened, before);
    }
    server.draining = true;
    ::kill(::getpid(), SIGTERM);
    int answers = 0;
    for (auto& client : clients) answers += client.get();
    server.thread.join();
    EXPECT_GT(answers, 20);
    EXPECT_EQ(server.ended.dropped, 0U);
    EXPECT_EQ(server.ended.stuck_threads, 0U);
  }
}

}  // namespace
}  // namespace relucent::server
