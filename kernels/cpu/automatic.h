#pragma once

#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// Operations per second that one thread reaches in `arithmetic`.
using MeasurePeak = double (*)(const VectorKernels& kernels, Arithmetic arithmetic);

/// On registers alone, by the thread's own clock, so that other programs do not count; about a millisecond.
double measure_peak(const VectorKernels& kernels, Arithmetic arithmetic);

/// What precision = "auto" computes in on this level: the fastest of those that keep fp32's ranking to within rounding,
/// which int8 does not. That is bf16 where the level has instructions for it and they are clearly faster than fp32's;
/// on some processors they are half as fast. `peak` is asked only where there is a choice.
Arithmetic choose_automatically(const VectorKernels& kernels, MeasurePeak peak);

/// The same with measure_peak(), once per process and level: every backend of a process computes in the same precision.
/// Thread-safe.
Arithmetic automatic_arithmetic(const VectorKernels& kernels);

}  // namespace relucent::cpu
