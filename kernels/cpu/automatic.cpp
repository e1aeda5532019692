#include "kernels/cpu/automatic.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace relucent::cpu {

Bf16Rate bf16_rate() {
#if defined(__x86_64__)
  unsigned most = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &most, &b, &c, &d) != 0 && b == signature_INTEL_ebx) return Bf16Rate::halved;
#endif
  return Bf16Rate::doubled;
}

Arithmetic automatic_arithmetic(const VectorKernels& kernels, bool normalized, Bf16Rate rate) {
  const bool faster = kernels.layout == WeightLayout::tiles || rate == Bf16Rate::doubled;
  if (kernels.native_bf16 && faster) return Arithmetic::bf16;
  return kernels.fast_int16 && normalized ? Arithmetic::int16 : Arithmetic::fp32;
}

}  // namespace relucent::cpu
