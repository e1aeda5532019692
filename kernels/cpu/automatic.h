#pragma once

#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// Operations per second that one thread reaches in `arithmetic`.
using MeasurePeak = double (*)(const VectorKernels& kernels, Arithmetic arithmetic);

/// Measures on operands in the first-level cache, with the thread's own CPU clock, so that other programs do not
/// distort it. Takes about a millisecond.
double measure_peak(const VectorKernels& kernels, Arithmetic arithmetic);

/// The arithmetic of precision = "auto" on this level: the fastest that keeps fp32's ranking to within rounding (int8
/// does not). That is bf16 if the level has instructions for it that are clearly faster than fp32's; on some processors
/// they are half as fast. Calls `peak` only if there is a choice.
Arithmetic choose_automatically(const VectorKernels& kernels, MeasurePeak peak);

/// choose_automatically() with measure_peak(), decided once per process and level, so that all backends of a process
/// compute in the same precision.
/// Thread-safe.
Arithmetic automatic_arithmetic(const VectorKernels& kernels);

}  // namespace relucent::cpu
