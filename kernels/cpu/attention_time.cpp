#include "relucent/kernels/attention_time.h"

#include <algorithm>
#include <random>

#include "base/thread_pool.h"
#include "kernels/cpu/vector_kernels.h"
#include "kernels/cuda_module.h"
#include "relucent/error.h"

namespace relucent {

std::vector<std::chrono::nanoseconds> time_attention(const BackendInfo& info, const AttentionShape& shape, int runs) {
  if (info.device.starts_with("cuda")) return cuda::time_attention(info, shape, runs);
  const cpu::VectorKernels* const kernels = cpu::vector_kernels_named(info.instruction_set);
  if (info.device != "cpu" || kernels == nullptr) {
    throw Error(ErrorKind::unsupported, info.device, "its attention cannot be measured alone",
                "name the device cpu or cuda");
  }
  const std::size_t lanes = kernels->lanes, vectors = (shape.tokens + lanes - 1) / lanes,
                    stride = cpu::kReach + vectors * lanes + cpu::kReach, rows = shape.head_size * stride,
                    of_head = 4 * rows;  // queries, keys, values, output
  const std::size_t tasks = shape.sequences * shape.heads;
  std::vector<float> states(tasks * of_head);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-1, 1);
  for (float& state : states) state = values(random);
  const auto pool = shared_pool(info.threads);
  std::vector<std::vector<float>> scores(static_cast<std::size_t>(info.threads),
                                         std::vector<float>((shape.tokens + 4 * cpu::kReach) * lanes));
  const auto attend = [&](std::size_t task, int worker) {
    float* const own = states.data() + task * of_head + cpu::kReach;
    cpu::Attention attention;
    attention.query = own;
    attention.output = own + 3 * rows;
    attention.query_stride = attention.output_stride = stride;
    attention.tokens = shape.tokens;
    attention.head_size = shape.head_size;
    attention.scale = 1;
    attention.arithmetic =
        info.precision == Precision::bf16 && kernels->native_bf16 ? cpu::Arithmetic::bf16 : cpu::Arithmetic::fp32;
    attention.scores = scores[static_cast<std::size_t>(worker)].data();
    const cpu::Keys keys{own + rows, own + 2 * rows, stride, shape.tokens};
    if (shape.window) {
      attention.band = keys;
      attention.window = *shape.window;
    } else {
      attention.segments[attention.segment_count++] = keys;
    }
    kernels->attend(attention);
  };
  std::vector<std::chrono::nanoseconds> samples;
  for (int run = -1; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    pool->run(tasks, attend);
    if (run >= 0) samples.push_back(std::chrono::steady_clock::now() - start);
  }
  return samples;
}

}  // namespace relucent
