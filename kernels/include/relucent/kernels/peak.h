#pragma once

#include "relucent/export.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// Measures the peak operations per second (a multiply-add counts as two) of the multiply instructions that the backend
/// of `info` uses. On a CPU: the best of several runs of a few milliseconds on registers alone, with the backend's
/// number of threads. On a GPU: one large matrix product in the backend's precision. For benchmarks. Returns 0 if the
/// peak cannot be measured; throws Error `device` if the GPU fails.
RELUCENT_API double measured_peak(const BackendInfo& info);

}  // namespace relucent
