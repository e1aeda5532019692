#pragma once

#include <functional>
#include <string>

#include "relucent/stop.h"

namespace relucent::benchmarks {

/// Calls `work` in a process of its own, to which no earlier model has left memory, and returns what it returns. Calls
/// `wait` about ten times per second meanwhile. Requires that no encoder lives, whose threads the new process would
/// lack, and that no GPU was used, which it could not use then. Throws Error: what `work` throws; `device` if memory
/// ran out or the process died; `interrupted` after ending the process.
std::string call_in_own_process(
    const std::function<std::string()>& work, const StopSignal& stop, const std::function<void()>& wait = [] {});

}  // namespace relucent::benchmarks
