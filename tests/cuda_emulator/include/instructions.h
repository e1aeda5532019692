// Stands in for kernels/cuda/ptx/instructions.h: the same functions, served by the emulator instead of inline PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/cuda_emulator/include/cuda_bf16.h"
#include "tests/cuda_emulator/include/cuda_fp16.h"
#include "tests/cuda_emulator/include/cuda_runtime.h"

namespace relucent::emulator {

enum class MatrixElement { half, bfloat16 };
void mma_m16n8k16(MatrixElement element, float* d, const std::uint32_t* a, const std::uint32_t* b);
void load_matrices(std::uint32_t* to, const void* row, int matrices, bool transposed);
std::uint32_t transposed(std::uint32_t word);
void cp_async_wait(int pending);

/// A kernel with a copy of its arguments: `call(arguments)` runs one thread of it.
struct Kernel {
  const void* function;
  std::shared_ptr<const void> arguments;
  std::size_t argument_bytes;
  void (*call)(const void* arguments);
};
cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream);

}  // namespace relucent::emulator

namespace relucent::cuda {

unsigned char* shared_memory();

/// d(16x8) += a(16x16) b(16x8), fragments as the PTX manual lays them out; T is __half or __nv_bfloat16.
template <typename T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>);
  emulator::mma_m16n8k16(std::is_same_v<T, __half> ? emulator::MatrixElement::half : emulator::MatrixElement::bfloat16,
                         d, a, b);
}

inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* shared_row) {
  emulator::load_matrices(r, shared_row, 4, false);
}
inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* shared_row) {
  emulator::load_matrices(r, shared_row, 4, true);
}
inline void ldmatrix_x2(std::uint32_t (&r)[2], const void* shared_row) {
  emulator::load_matrices(r, shared_row, 2, false);
}
inline void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* shared_row) {
  emulator::load_matrices(r, shared_row, 2, true);
}

inline std::uint32_t transposed(std::uint32_t word) { return emulator::transposed(word); }
/// 2^x; 0 below 2^-126.
float exp2_of(float x);
inline float reciprocal_of(float x) { return 1.0F / x; }

/// Kernels start when what was started before them has ended.
inline void wait_for_previous() {}

/// Copies 16 bytes, both ends aligned to 16; writes zeros when !valid, and then does not read `global`.
void cp_async_16(void* shared, const void* global, bool valid);
void cp_async_commit();
/// Waits until at most `Pending` of this thread's committed groups are still under way.
template <int Pending>
void cp_async_wait() {
  static_assert(Pending >= 0);
  emulator::cp_async_wait(Pending);
}

template <typename... P, typename... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   A&&... arguments) {
  static_assert((std::is_trivially_copyable_v<std::decay_t<P>> && ...), "kernel arguments are copied as bytes");
  struct Call {
    void (*kernel)(P...);
    std::tuple<std::decay_t<P>...> arguments;
  };
  const std::shared_ptr<const Call> call(new Call{kernel, {std::forward<A>(arguments)...}});
  return emulator::launch({reinterpret_cast<const void*>(kernel), call, sizeof(Call),
                           [](const void* it) {
                             std::apply(static_cast<const Call*>(it)->kernel, static_cast<const Call*>(it)->arguments);
                           }},
                          grid, block, shared_bytes, stream);
}

}  // namespace relucent::cuda
