// The queue in front of the model: who comes when, who is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/fair_queue.h"

namespace relucent::server {
namespace {

std::string all(FairQueue<int>& queue) {
  std::string items;
  while (queue.size() > 0) items += std::to_string(*queue.pop()) + " ";
  return items;
}

TEST(FairQueue, ClientsTakeTurnsAndKeepTheirOwnOrder) {
  FairQueue<int> queue(100);
  for (int i = 1; i <= 5; ++i) EXPECT_FALSE(queue.push("a", i));
  for (int i = 11; i <= 12; ++i) EXPECT_FALSE(queue.push("b", i));
  EXPECT_FALSE(queue.push("c", 21));
  EXPECT_EQ(all(queue), "1 11 21 2 12 3 4 5 ");
}

TEST(FairQueue, AClientThatComesBackWaitsForItsTurn) {
  FairQueue<int> queue(100);
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(queue.push("a", i));
  EXPECT_FALSE(queue.push("b", 11));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 11);
  EXPECT_FALSE(queue.push("b", 12));  // behind a's second one
  EXPECT_EQ(all(queue), "2 12 3 ");
}

TEST(FairQueue, AFullQueueRefusesAtOnce) {
  FairQueue<int> queue(3);
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(queue.push("a", i));
  EXPECT_EQ(queue.push("a", 4), 4);
  EXPECT_EQ(all(queue), "1 2 3 ");
}

TEST(FairQueue, WhoHasMostMakesRoomForOthers) {
  FairQueue<int> queue(4);
  for (int i = 1; i <= 4; ++i) EXPECT_FALSE(queue.push("greedy", i));
  EXPECT_EQ(queue.push("b", 11), 4);
  EXPECT_EQ(queue.push("b", 12), 3);
  EXPECT_EQ(queue.push("b", 13), 13);  // both have two
  EXPECT_EQ(queue.push("c", 21), 12);
  EXPECT_EQ(queue.push("greedy", 5), 5);
  EXPECT_EQ(all(queue), "1 11 21 2 ");
}

TEST(FairQueue, TakesOutWhatIsDueAndKeepsTheTurns) {
  FairQueue<int> queue(100);
  for (int i = 1; i <= 4; ++i) EXPECT_FALSE(queue.push("a", i));
  EXPECT_FALSE(queue.push("b", 10));
  EXPECT_FALSE(queue.push("c", 21));
  EXPECT_EQ(queue.take_if([](int item) { return item % 2 == 0; }), (std::vector{2, 4, 10}));
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(all(queue), "1 21 3 ");
  EXPECT_FALSE(queue.push("b", 11));
  EXPECT_EQ(all(queue), "11 ");
}

TEST(FairQueue, ClosedItRefusesAndGivesOutWhatItHas) {
  FairQueue<std::unique_ptr<int>> queue(10);
  EXPECT_FALSE(queue.push("a", std::make_unique<int>(1)));
  queue.close();
  const auto refused = queue.push("a", std::make_unique<int>(2));
  ASSERT_TRUE(refused);
  EXPECT_EQ(**refused, 2);
  EXPECT_EQ(**queue.pop(), 1);
  EXPECT_FALSE(queue.pop());
}

TEST(FairQueue, NothingIsLostOrDoubledAmongThreads) {
  constexpr int per_client = 2000, clients = 4, workers = 3;
  FairQueue<int> queue(64);
  std::vector<std::atomic<int>> seen(per_client * clients);
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&] {
        while (const auto item = queue.pop()) ++seen[static_cast<std::size_t>(*item)];
      });
    }
    std::vector<std::jthread> writers;
    for (int client = 0; client < clients; ++client) {
      writers.emplace_back([&, client] {
        for (int i = 0; i < per_client; ++i) {
          const auto refused = queue.push(std::to_string(client), client * per_client + i);
          if (refused) ++seen[static_cast<std::size_t>(*refused)];
          if (i % 50 == 0) {
            for (const int taken : queue.take_if([](int item) { return item % 97 == 0; })) {
              ++seen[static_cast<std::size_t>(taken)];
            }
          }
        }
      });
    }
    writers.clear();
    queue.close();
  }
  for (const auto& count : seen) EXPECT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace relucent::server
