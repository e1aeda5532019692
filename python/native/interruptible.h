#pragma once

#include <functional>
#include <stop_token>

namespace relucent::python {

/// Runs `work` without Python's global lock. Called with the lock held; throws what `work` throws.
///
/// Only Python's main thread runs signal handlers. There, `work` runs on a thread of its own while the main thread
/// looks for signals every few milliseconds. If a handler raises an exception (KeyboardInterrupt, after Ctrl-C), the
/// token is asked to stop, and once `work` has ended the exception is thrown as nanobind::python_error.
void run_interruptibly(const std::function<void(const std::stop_token&)>& work);

}  // namespace relucent::python
