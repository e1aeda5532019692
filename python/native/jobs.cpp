#include "python/native/jobs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace relucent::python {

void run_jobs(std::size_t count, int jobs, const std::stop_token& stop,
              const std::function<void(std::size_t, const StopSignal&)>& work) {
  std::stop_source ending;
  const std::stop_callback forward(stop, [&] { ending.request_stop(); });
  StopSignal signal;
  signal.stop = ending.get_token();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !ending.stop_requested(); i = next++) {
      try {
        work(i, signal);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        ending.request_stop();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(static_cast<std::size_t>(std::max(jobs, 1)), count)) others.emplace_back(run);
    } catch (const std::system_error&) {
      // No more threads: those that started do the work.
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
  StopSignal outer;
  outer.stop = stop;
  outer.throw_if_due("working on a batch");
}

}  // namespace relucent::python
