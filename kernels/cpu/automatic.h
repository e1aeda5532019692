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
/// does not). `normalized`: the encoder normalizes what each sublayer adds to. Otherwise a few of a token's activations
/// may be hundreds of times as large as the others, for which int16's one scale per token leaves few bits. The choice
/// depends on the encoder, the level and the processor alone, so that every process of a machine computes the same
/// bits; a measurement would not, since other programs disturb it.
Arithmetic automatic_arithmetic(const VectorKernels& kernels, bool normalized, Bf16Rate rate = bf16_rate());

}  // namespace relucent::cpu
