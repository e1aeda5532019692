#include "cpu/vector_kernels.h"

namespace relucent::cpu {

VectorLevels available_vector_kernels() {
  VectorLevels found{{&plain::kernels, nullptr, nullptr}, 1};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.levels[found.count++] = &avx2::kernels;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      found.levels[found.count++] = &avx512::kernels;
    }
  }
#endif
  return found;
}

}  // namespace relucent::cpu
