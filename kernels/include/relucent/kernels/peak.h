#pragma once

#include "relucent/export.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// The operations a second (a multiply-add is two) that this machine reaches just now with the instructions that the
/// backend of `info` multiplies with: on a CPU on as many threads, the best of some runs of a few milliseconds on
/// registers alone; on a GPU one large matrix product in its precision. For benchmarks. 0 where it cannot be measured;
/// throws Error `device` where a GPU fails.
RELUCENT_API double measured_peak(const BackendInfo& info);

}  // namespace relucent
