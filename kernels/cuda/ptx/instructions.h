// Device instructions without an equivalent in C++, in PTX, and the launch of a kernel. The tests' emulator has a
// header with the same name and signatures, so that the same sources of kernels can be compiled for the host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace relucent::cuda {

/// The block's dynamic shared memory, aligned to 16 bytes.
__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char relucent_shared_memory[];
  return relucent_shared_memory;
}

/// d += a * b for a 16 x 16, b 16 x 8, d 16 x 8, distributed over the warp as the PTX ISA defines for mma.m16n8k16.
/// T: __half or __nv_bfloat16, packed in pairs.
template <typename T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    static_assert(std::is_same_v<T, __nv_bfloat16>);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// Loads four 8 x 8 matrices of 16-bit elements; lane l passes the address of row l % 8 of matrix l / 8: 16 bytes,
/// aligned to 16 bytes.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// An 8 x 8 matrix of 16-bit elements, of which lane l holds row l / 4, columns 2 * (l % 4) and the next, transposed.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t word) {
  std::uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(word));
  return result;
}

/// 2^x, at most 2 units in the last place off; 0 below 2^-126.
__device__ __forceinline__ float exp2_of(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// 1 / x, at most 1 unit in the last place off.
__device__ __forceinline__ float reciprocal_of(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// The first statement of every kernel: waits until what was started before it on its stream has ended, with all that
/// it wrote. Before this, a kernel that launch() has started early may run.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Whether this kernel, and so every other one, has this wait on the current device: not if its code was made for a GPU
/// older than Hopper. Thread-safe.
inline bool can_start_early(const void* kernel) {
  enum Answer : char { unknown, no, yes };
  static std::array<std::atomic<Answer>, 64> answers{};  // by device
  int device = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= static_cast<int>(answers.size())) return false;
  std::atomic<Answer>& answer = answers[static_cast<std::size_t>(device)];
  if (answer == unknown) {
    cudaFuncAttributes attributes{};
    const bool good = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                      major >= 9 && cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
                      attributes.ptxVersion >= 90;
    answer = good ? yes : no;
  }
  return answer == yes;
}

/// Starts `kernel` with `shared_bytes` of dynamic shared memory. Where it can, it starts while the kernel before it on
/// the stream ends ("programmatic dependent launch"), which hides the time between two kernels.
template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = grid;
  configuration.blockDim = block;
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream;
  configuration.attrs = &attribute;
  configuration.numAttrs = can_start_early(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  return cudaLaunchKernelEx(&configuration, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace relucent::cuda
