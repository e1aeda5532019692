#pragma once

#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// What an AVX-512 BF16 instruction is worth: AMD's processors do twice fp32's operations per second with it, Intel's
/// half of them. AMX is many times faster than fp32. Arm's matrix instruction multiplies four times as many numbers as
/// fp32's (not measured).
enum class Bf16Rate { doubled, halved };

/// That of this processor, by its vendor.
Bf16Rate bf16_rate();

/// The arithmetic of precision = "auto" on this level: the fastest that keeps fp32's ranking to within rounding (int8
/// does not). It depends on the level and the processor alone, so that every process of a machine computes the same
/// bits; a measurement would not, since other programs disturb it.
Arithmetic automatic_arithmetic(const VectorKernels& kernels, Bf16Rate rate = bf16_rate());

}  // namespace relucent::cpu
