#pragma once

#include "relucent/export.h"

namespace relucent {

/// The largest number of threads that any setting accepts.
inline constexpr int kMaxThreads = 1024;

/// The number of cores this process may use: the smaller of its CPU affinity and the smallest CPU quota (rounded up) of
/// its control group and that group's ancestors. At least 1. Thread-safe; reads a few small files.
RELUCENT_API int available_cores();

}  // namespace relucent
