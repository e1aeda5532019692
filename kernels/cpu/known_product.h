#pragma once

#include <span>

#include "kernels/cpu/vector_kernels.h"

namespace relucent::cpu {

/// Whether the level computes a small product of whole numbers exactly, in every arithmetic that is native to it. The
/// product covers whole and partial tiles and panels. It detects compilers, hypervisors and processors that get one of
/// the special instructions wrong. Takes a few microseconds.
bool multiplies_exactly(const VectorKernels& kernels);

/// The candidates for which `works` holds, in order; the others are `refused`. Keeps the first one unchecked, because
/// one level must remain.
VectorLevels levels_that_work(std::span<const VectorKernels* const> candidates,
                              bool (*works)(const VectorKernels& kernels));

}  // namespace relucent::cpu
