#include "plugin/index_format/posting_kernels.h"

namespace relucent::bm25 {

PostingLevels available_posting_kernels() {
  PostingLevels found{{&plain::kPostingKernels}, 1};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2")) {
    found.levels[found.count++] = &avx512::kPostingKernels;
  }
#endif
  return found;
}

const PostingKernels& best_posting_kernels() {
  static const PostingLevels available = available_posting_kernels();
  return *available.levels[available.count - 1];
}

}  // namespace relucent::bm25
