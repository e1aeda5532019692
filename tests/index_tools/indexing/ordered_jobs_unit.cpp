#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "index_tools/indexing/ordered_jobs.h"

namespace relucent::index_tools {
namespace {

void nothing() {}

// Some pieces take longer than the ones after them.
void work_for(std::size_t piece) {
  std::this_thread::sleep_for(std::chrono::microseconds(piece % 7 == 0 ? 900 : piece * 37 % 100));
}

TEST(OrderedJobs, ResultsComeInOrderWithAnyNumberOfJobs) {
  for (const int jobs : {0, 1, 2, 3, 8, 500}) {
    OrderedJobs<std::string> results(200, jobs, [](std::size_t piece) {
      work_for(piece);
      return std::to_string(piece);
    });
    for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(results.next(nothing), std::to_string(i)) << jobs;
  }
}

TEST(OrderedJobs, FailuresComeAtTheirPlaceAndTheRestContinues) {
  for (const int jobs : {1, 4}) {
    OrderedJobs<std::size_t> results(60, jobs, [](std::size_t piece) {
      work_for(piece);
      if (piece % 10 == 3) throw std::runtime_error(std::to_string(piece));
      return piece;
    });
    for (std::size_t i = 0; i < 60; ++i) {
      try {
        EXPECT_EQ(results.next(nothing), i);
        EXPECT_NE(i % 10, 3U);
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(i % 10, 3U);
        EXPECT_EQ(error.what(), std::to_string(i));
      }
    }
  }
}

TEST(OrderedJobs, SeveralPiecesAreDoneAtOnceAndFewAhead) {
  constexpr int jobs = 4;
  std::atomic<std::size_t> begun = 0, running = 0, most = 0;
  OrderedJobs<std::size_t> results(100, jobs, [&](std::size_t piece) {
    ++begun;
    std::size_t now = ++running, seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --running;
    return piece;
  });
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_LE(begun, i + 4 * jobs);
    results.next(nothing);
  }
  EXPECT_GT(most, 1U);
  EXPECT_LE(most, static_cast<std::size_t>(jobs));
}

TEST(OrderedJobs, WhoLooksCanEndTheWaitAndNoFurtherPieceBegins) {
  std::atomic<std::size_t> begun = 0;
  std::atomic<bool> release = false;
  {
    OrderedJobs<int> results(1000, 2, [&](std::size_t) {
      ++begun;
      while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0;
    });
    int looks = 0;
    const auto look = [&looks] {
      if (++looks == 2) throw std::runtime_error("enough");
    };
    EXPECT_THROW(results.next(look), std::runtime_error);
    std::thread([&release] { release = true; }).join();
  }
  EXPECT_LE(begun, 8U + 2U);
}

TEST(OrderedJobs, OneJobIsDoneByWhoAsks) {
  const auto here = std::this_thread::get_id();
  OrderedJobs<bool> results(3, 1, [here](std::size_t) { return std::this_thread::get_id() == here; });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(results.next(nothing));
}

}  // namespace
}  // namespace relucent::index_tools
