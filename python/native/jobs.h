#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "relucent/stop.h"

namespace relucent::python {

/// Calls work(0, ...) to work(count - 1, ...), `jobs` of them at a time, on this thread and others. Throws the first
/// exception of `work`, which ends the other calls, and Error `interrupted` if `stop` was requested.
void run_jobs(std::size_t count, int jobs, const std::stop_token& stop,
              const std::function<void(std::size_t, const StopSignal&)>& work);

}  // namespace relucent::python
