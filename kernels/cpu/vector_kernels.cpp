#include "kernels/cpu/vector_kernels.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/known_product.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace relucent::cpu {
namespace {

#if defined(__x86_64__)
// Whether the system saves the tile registers when it switches threads: bits 17 and 18 of XCR0.
bool saves_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned osxsave = 1U << 27, tiles = 3U << 17;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & osxsave) == 0) return false;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & tiles) == tiles;
}

// Not every compiler's __builtin_cpu_supports() knows the feature.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 4)) != 0;
}

// Whether the processor has AMX with bf16 and int8 and the system lets this process use it. Linux grants the tiles'
// state to a process that asks (arch_prctl(2)).
bool may_use_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned bf16 = 1U << 22, tile = 1U << 24, int8 = 1U << 25;
  if ((d & (bf16 | tile | int8)) != (bf16 | tile | int8) || !saves_tiles()) return false;
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

/// The levels that the processor claims to support.
std::vector<const VectorKernels*> claimed() {
  std::vector<const VectorKernels*> levels = {&plain::kKernels};
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return levels;
  levels.push_back(&amx_emulated::kKernels);
  levels.push_back(&avx_vnni_emulated::kKernels);
  levels.push_back(&avx2::kKernels);
  if (has_avx_vnni()) levels.push_back(&avx_vnni::kKernels);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return levels;
  }
  levels.push_back(&avx512::kKernels);
  if (!__builtin_cpu_supports("avx512vnni")) return levels;
  levels.push_back(&avx512_vnni::kKernels);
  if (!__builtin_cpu_supports("avx512bf16")) return levels;
  levels.push_back(&avx512_bf16::kKernels);
  if (may_use_amx()) levels.push_back(&amx::kKernels);
#elif defined(__aarch64__)
  // Linux's numbers for the features (asm/hwcap.h), which older headers lack.
  constexpr unsigned long dot_product = 1UL << 20, int8_matrices = 1UL << 13, bf16 = 1UL << 14;
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  levels.push_back(&neon::kKernels);
  if ((first & dot_product) == 0) return levels;
  levels.push_back(&neon_dot::kKernels);
  if ((second & int8_matrices) == 0) return levels;
  levels.push_back(&neon_i8mm::kKernels);
  if ((second & bf16) != 0) levels.push_back(&neon_bf16::kKernels);
#endif
  return levels;
}

}  // namespace

const VectorKernels& best_of(const VectorLevels& levels, bool without_tiles) {
  const auto suits = [&](const VectorKernels& level) {
    return level.automatic && !(without_tiles && level.layout == WeightLayout::tiles);
  };
  std::size_t best = levels.count - 1;
  while (best > 0 && !suits(*levels.levels[best])) --best;
  return *levels.levels[best];
}

const VectorKernels& best_vector_kernels() { return best_of(available_vector_kernels(), false); }

VectorLevels available_vector_kernels() {
  // Not the emulated tile kernels: only tests use them, and must see their errors.
  static const VectorLevels found = levels_that_work(
      claimed(), [](const VectorKernels& level) { return !level.automatic || multiplies_exactly(level); });
  return found;
}

const VectorKernels* vector_kernels_named(std::string_view name) {
  const VectorLevels available = available_vector_kernels();
  const auto* const end = available.levels + available.count;
  const auto* const found = std::find_if(available.levels, end, [&](const auto* level) { return name == level->name; });
  return found != end ? *found : nullptr;
}

}  // namespace relucent::cpu
