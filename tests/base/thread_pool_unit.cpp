#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <set>
#include <stdexcept>

#include "base/thread_pool.h"

namespace relucent {
namespace {

TEST(ThreadPool, DoesEachPieceOnce) {
  ThreadPool pool(3);
  for (const std::size_t count : {0, 1, 2, 3, 100, 1000}) {
    std::vector<std::atomic<int>> done(count);
    pool.run(count, [&](std::size_t index, int worker) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, 3);
      ++done[index];
    });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(ThreadPool, AWorkerDoesOnePieceAtATime) {
  ThreadPool pool(2);
  std::atomic<int> inside[2] = {0, 0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      pool.run(200, [&](std::size_t, int worker) {
        EXPECT_EQ(++inside[worker], 1);
        std::this_thread::yield();
        --inside[worker];
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, ThrowsTheFirstFailureAndContinues) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> begun = 0;
    EXPECT_THROW(pool.run(100'000,
                          [&](std::size_t index, int) {
                            ++begun;
                            if (index == 5) throw std::runtime_error("five");
                            // So long that the other thread cannot begin all of them before the exception is seen.
                            if (index > 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          }),
                 std::runtime_error);
    EXPECT_LT(begun, 100'000U);
    std::atomic<int> done = 0;
    pool.run(10, [&](std::size_t, int) { ++done; });
    EXPECT_EQ(done, 10);
  }
}

TEST(ThreadPool, BeginsNothingAfterAFailure) {
  ThreadPool pool(1);
  std::vector<std::size_t> begun;
  EXPECT_THROW(pool.run(100,
                        [&](std::size_t index, int) {
                          begun.push_back(index);
                          if (index == 5) throw std::runtime_error("five");
                        }),
               std::runtime_error);
  EXPECT_EQ(begun.size(), 6U);
}

TEST(ThreadPool, SleepsWhileThereIsNoWork) {
  ThreadPool pool(2);
  pool.run(10, [](std::size_t, int) {});
  const std::clock_t before = std::clock();  // processor time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

TEST(SharedPool, IsOneForAllWhoWantTheSameNumberOfThreads) {
  const auto two = shared_pool(2);
  EXPECT_EQ(shared_pool(2), two);
  EXPECT_NE(shared_pool(3), two);
  EXPECT_EQ(two->size(), 2);
}

TEST(AvailableCores, AreAtLeastOneAndAtMostThoseOfTheMachine) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

// The child has none of the threads: destroying the pool waited for them, and so did work on it.
TEST(ThreadPool, OfTheParentIsNeitherUsedNorAwaitedInAForkedChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "SKIPPED: ThreadSanitizer does not let a forked child start threads";
#endif
  std::shared_ptr<ThreadPool> pool = shared_pool(2);
  std::atomic<int> calls = 0;
  pool->run(8, [&](std::size_t, int) { ++calls; });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    shared_pool(2)->run(8, [&](std::size_t, int) { ++calls; });
    pool.reset();
    ::_exit(calls == 16 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  pool->run(8, [&](std::size_t, int) { ++calls; });
  EXPECT_EQ(calls, 16);
}

}  // namespace
}  // namespace relucent
