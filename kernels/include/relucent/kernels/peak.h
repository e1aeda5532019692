#pragma once

#include "relucent/export.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// Operations per second; a multiply-add counts as two.
struct Peak {
  double best = 0;    ///< 0 if the peak cannot be measured
  double lowest = 0;  ///< of several runs; how far it is from `best` tells how busy or throttled the processor is
};

/// Measures the peak rate of the multiply instructions that the backend of `info` uses. On a CPU: several runs of a few
/// milliseconds on registers alone, with the backend's number of threads. On a GPU: one large matrix product in the
/// backend's precision, whose best rate stands for both. For benchmarks. Throws Error `device` if the GPU fails.
RELUCENT_API Peak measured_peak(const BackendInfo& info);

}  // namespace relucent
