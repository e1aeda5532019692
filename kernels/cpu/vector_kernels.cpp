#include "cpu/vector_kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace relucent::cpu {
namespace {

#if defined(__x86_64__)
// Whether the processor has AMX with bf16 and int8 and the system lets this process use it. Linux grants the tiles'
// state to a process that asks (arch_prctl(2)).
bool may_use_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned bf16 = 1U << 22, tile = 1U << 24, int8 = 1U << 25;
  if ((d & (bf16 | tile | int8)) != (bf16 | tile | int8)) return false;
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

}  // namespace

const VectorKernels& best_vector_kernels() {
  const VectorLevels available = available_vector_kernels();
  return *available.levels[available.count - 1];
}

VectorLevels available_vector_kernels() {
  VectorLevels found{{&amx_emulated::kernels, &plain::kernels}, 2};
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return found;
  found.levels[found.count++] = &avx2::kernels;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return found;
  }
  found.levels[found.count++] = &avx512::kernels;
  if (!__builtin_cpu_supports("avx512vnni")) return found;
  found.levels[found.count++] = &avx512_vnni::kernels;
  if (!__builtin_cpu_supports("avx512bf16")) return found;
  found.levels[found.count++] = &avx512_bf16::kernels;
  static const bool amx = may_use_amx();
  if (amx) found.levels[found.count++] = &amx::kernels;
#endif
  return found;
}

}  // namespace relucent::cpu
