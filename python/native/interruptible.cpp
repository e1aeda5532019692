#include "python/native/interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace relucent::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::milliseconds kBetweenChecks{20};

bool on_main_thread() {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
}

/// `work` on a thread of its own.
class Running {
 public:
  explicit Running(const std::function<void(const std::stop_token&)>& work)
      : thread_([this, &work](const std::stop_token& stop) {
          try {
            work(stop);
          } catch (...) {
            failure_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          done_ = true;
          ended_.notify_one();
        }) {}

  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, kBetweenChecks, [this] { return done_; });
  }

  void request_stop() { thread_.request_stop(); }

  std::exception_ptr end() {
    thread_.join();
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace

void run_interruptibly(const std::function<void(const std::stop_token&)>& work) {
  std::optional<Running> running;
  if (on_main_thread()) {
    try {
      running.emplace(work);
    } catch (const std::system_error&) {
      // No more threads: signals wait until the work has ended.
    }
  }
  if (!running) {
    const nb::gil_scoped_release released;
    work({});
    return;
  }
  std::optional<nb::python_error> raised;
  for (;;) {
    {
      const nb::gil_scoped_release released;
      if (running->wait()) break;
    }
    if (!raised && PyErr_CheckSignals() != 0) {
      raised.emplace();
      running->request_stop();
    }
  }
  const std::exception_ptr failure = running->end();
  if (raised) throw nb::python_error(std::move(*raised));
  if (failure) std::rethrow_exception(failure);
}

}  // namespace relucent::python
