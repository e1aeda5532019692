#pragma once

#include "relucent/export.h"

namespace relucent {

/// The largest number of threads that any setting takes.
inline constexpr int kMaxThreads = 1024;

/// The cores this process may use: its affinity, and the smallest quota of its control group and those around it,
/// rounded up, where that is less. At least 1. Thread-safe; reads a few small files.
RELUCENT_API int available_cores();

}  // namespace relucent
