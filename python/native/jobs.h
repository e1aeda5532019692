#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "relucent/stop.h"

namespace relucent::python {

/// Pairs of one query that are computed together at most, which bounds the memory of a call with many of them.
inline constexpr std::size_t kPairsAtOnce = 1024;
/// What shares a model's threads or GPU: some pairs are tokenized while others are encoded.
inline constexpr int kModelJobs = 4;

/// Calls work(0, ...) to work(count - 1, ...), `jobs` of them at a time, on this thread and others. Throws the first
/// exception of `work`, which ends the other calls, and Error `interrupted` if `stop` was requested.
void run_jobs(std::size_t count, int jobs, const std::stop_token& stop,
              const std::function<void(std::size_t, const StopSignal&)>& work);

}  // namespace relucent::python
