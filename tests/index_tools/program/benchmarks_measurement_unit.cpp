// What the benchmarks' figures are made of: ranks, concurrent clients, this process's memory.
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "index_tools/benchmarks/measurement.h"
#include "index_tools/benchmarks/model_benchmark.h"
#include "index_tools/benchmarks/model_sweep.h"
#include "model/families/pattern.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"

namespace relucent::benchmarks {
namespace {

TEST(Percentile, IsTheNearestRankWhateverTheOrder) {
  using std::chrono::nanoseconds;
  std::vector<nanoseconds> samples;
  for (int i = 200; i > 0; --i) samples.emplace_back(i);
  EXPECT_EQ(percentile(samples, 0.50), nanoseconds(100));
  EXPECT_EQ(percentile(samples, 0.95), nanoseconds(190));
  EXPECT_EQ(percentile(samples, 0.99), nanoseconds(198));
  EXPECT_EQ(percentile(samples, 1.00), nanoseconds(200));
  EXPECT_EQ(percentile({nanoseconds(7), nanoseconds(3)}, 0.01), nanoseconds(3));
  EXPECT_EQ(percentile({nanoseconds(7), nanoseconds(3)}, 0.51), nanoseconds(7));
  EXPECT_EQ(percentile({nanoseconds(7)}, 0.99), nanoseconds(7));
}

TEST(FittingWindow, LiesBetweenTheWindowsAroundTheLatency) {
  using std::chrono::nanoseconds;
  const std::vector<SweptSetting::Time> times = {{1, nanoseconds(10)}, {10, nanoseconds(100)}, {50, nanoseconds(500)}};
  EXPECT_EQ(fitting_window(times, nanoseconds(9), 50), 0);
  EXPECT_EQ(fitting_window(times, nanoseconds(10), 50), 1);
  EXPECT_EQ(fitting_window(times, nanoseconds(300), 50), 30);
  EXPECT_EQ(fitting_window(times, nanoseconds(300), 20), 20);
  EXPECT_EQ(fitting_window(times, nanoseconds(1000), 50), 50);
  EXPECT_EQ(fitting_window({}, nanoseconds(1000), 50), 0);
}

TEST(Operations, AreTheLeastThatADenseCrossEncoderNeeds) {
  const EncoderDescription dense =
      with_pattern(JsonFile::read(default_model() / "config.json"), PatternChoice::full, {}).description;
  ASSERT_EQ(dense.hidden_size, 384);
  const double tokens = 1 + 11 + 97, square = 384 * 384, feed_forward = 2 * 384 * 1536;
  const double layer = tokens * (4 * square + feed_forward) + tokens * tokens * 2 * 384;
  // The last one computes [CLS] alone, whose heads multiply W_K and W_V with one vector each.
  const double last = 4 * square + feed_forward + tokens * 2 * 12 * 384;
  EXPECT_DOUBLE_EQ(operations(dense, 1, 11, 97), 2 * (5 * layer + last));
}

TEST(Clients, RunAtTheSameTime) {
  std::barrier all_here(4);  // nobody would pass it if they ran one after the other
  std::vector<int> calls(4);
  run_clients(4, [&](int client) {
    all_here.arrive_and_wait();
    ++calls[static_cast<std::size_t>(client)];
  });
  EXPECT_EQ(calls, (std::vector<int>{1, 1, 1, 1}));
}

TEST(Clients, AnExceptionIsThrownAfterAllHaveEnded) {
  std::vector<int> calls(3);
  EXPECT_THROW(run_clients(3,
                           [&](int client) {
                             if (client == 1) throw std::runtime_error("the second one");
                             ++calls[static_cast<std::size_t>(client)];
                           }),
               std::runtime_error);
  EXPECT_EQ(calls, (std::vector<int>{1, 0, 1}));
}

TEST(Memory, CountsWhatIsTouchedAndKeepsThePeak) {
  const MemoryUse before = memory_use();
  ASSERT_GT(before.resident_mb, 0);
  {
    std::vector<char> block(std::size_t{256} << 20);
    char* volatile touched = block.data();  // without it Clang leaves the allocation out
    std::memset(touched, 1, block.size());
    EXPECT_GT(memory_use().resident_mb, before.resident_mb + 200);
  }
  const MemoryUse after = memory_use();
  EXPECT_LT(after.resident_mb, before.resident_mb + 100);
  EXPECT_GT(after.peak_mb, before.resident_mb + 200);
}

}  // namespace
}  // namespace relucent::benchmarks
