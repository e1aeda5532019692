// What a benchmark of attention alone measures.
#include <gtest/gtest.h>

#include "relucent/error.h"
#include "relucent/kernels/attention_time.h"
#include "tests/support/expect_error.h"

namespace relucent {
namespace {

TEST(AttentionTime, IsThatOfACpuAlone) {
  BackendInfo info;
  info.device = "cpu";
  info.instruction_set = "plain";
  const AttentionShape shape{.sequences = 2, .tokens = 9, .heads = 2, .head_size = 8, .window = 1};
  const auto times = time_attention(info, shape, 3);
  ASSERT_EQ(times.size(), 3U);
  for (const auto time : times) EXPECT_GT(time.count(), 0);
  info.device = "ref";
  testing::expect_error(ErrorKind::unsupported, {"ref", "name the device cpu"},
                        [&] { time_attention(info, shape, 1); });
}

}  // namespace
}  // namespace relucent
