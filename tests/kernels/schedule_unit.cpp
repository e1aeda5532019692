#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/cpu/schedule.h"

namespace relucent::cpu {
namespace {

using Tokens = std::vector<std::size_t>;

// The runs cover the documents in their order.
void expect_whole(const Schedule& schedule, std::size_t documents) {
  std::size_t next = 0;
  for (const auto& [first, count] : schedule.groups) {
    EXPECT_EQ(first, next);
    EXPECT_GT(count, 0U);
    next = first + count;
  }
  EXPECT_EQ(next, documents);
}

TEST(Schedule, FewWorkersTakeLargeGroupsOfTheirOwn) {
  const Schedule found = schedule(Tokens(100, 174), 2, 384);
  expect_whole(found, 100);
  EXPECT_FALSE(found.together);
  EXPECT_EQ(found.groups.size(), 50U);
}

TEST(Schedule, ManyWorkersTakeSmallerGroups) {
  const Schedule found = schedule(Tokens(128, 174), 64, 384);
  expect_whole(found, 128);
  EXPECT_FALSE(found.together);
  EXPECT_EQ(found.groups.size(), 64U);
}

TEST(Schedule, UnevenOrFewDocumentsAreSharedByAll) {
  for (const std::size_t documents : {1U, 10U, 100U}) {
    const Schedule found = schedule(Tokens(documents, 174), 64, 384);
    expect_whole(found, documents);
    EXPECT_TRUE(found.together) << documents;
    EXPECT_EQ(found.groups.size(), 1U);
  }
}

TEST(Schedule, ShortDocumentsAreNotGroupsByThemselves) {
  const Schedule found = schedule(Tokens(1000, 10), 64, 384);
  expect_whole(found, 1000);
  EXPECT_TRUE(found.together);
}

TEST(Schedule, NoWorkerOfItsOwnGroupsHasMuchMoreThanItsShare) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Tokens tokens(1 + random() % 200);
    for (std::size_t& each : tokens) each = 1 + random() % 512;
    std::sort(tokens.rbegin(), tokens.rend());
    const std::size_t workers = 1 + random() % 130;
    const Schedule found = schedule(tokens, workers, 384);
    expect_whole(found, tokens.size());
    if (found.together) continue;
    std::vector<std::size_t> loads(workers);
    for (const auto& [first, count] : found.groups) {
      const auto in_group = std::span(tokens).subspan(first, count);
      *std::min_element(loads.begin(), loads.end()) += std::accumulate(in_group.begin(), in_group.end(), 0UL);
    }
    const std::size_t all = std::accumulate(tokens.begin(), tokens.end(), 0UL);
    EXPECT_LE(10 * *std::max_element(loads.begin(), loads.end()), 11 * (all / workers + 1)) << workers;
  }
}

TEST(TaskSize, AsLargeAsAllowedForOneWorker) {
  EXPECT_EQ(task_size(11, 1, 8), 8U);
  EXPECT_EQ(task_size(3, 1, 8), 3U);
  EXPECT_EQ(task_size(725, 1, 1), 1U);
}

TEST(TaskSize, LeavesNoWorkerWaitingForAnother) {
  EXPECT_EQ(task_size(16, 4, 8), 4U);
  EXPECT_EQ(task_size(64, 64, 8), 1U);
  EXPECT_EQ(task_size(544, 64, 22), 9U);  // 61 tasks in one round
}

TEST(PartsFor, FillsTheLastRound) {
  EXPECT_EQ(parts_for(12, 1, 100), 1U);
  EXPECT_EQ(parts_for(12, 2, 100), 1U);
  EXPECT_EQ(parts_for(12, 64, 100), 16U);  // 192 tasks, three rounds
  EXPECT_EQ(parts_for(12, 64, 10), 5U);    // 60 tasks, one round
  EXPECT_EQ(parts_for(1, 64, 3), 3U);
  EXPECT_EQ(parts_for(500, 64, 9), 1U);
}

}  // namespace
}  // namespace relucent::cpu
