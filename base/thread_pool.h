#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "relucent/threads.h"

namespace relucent {

/// Threads that execute numbered tasks and sleep when there are none. Any number of threads may call run()
/// concurrently; the pool alternates between their tasks.
class ThreadPool {
 public:
  /// Throws Error `io` if the system cannot start all threads, std::bad_alloc if it runs out of memory.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return static_cast<int>(threads_.size()); }

  /// Calls work(index, worker) for every index below `count` on the pool's threads, 0 <= worker < size(), at most one
  /// call per worker at a time. Returns when all calls have ended. After an exception no further call starts, and run()
  /// rethrows the first exception.
  using Work = std::function<void(std::size_t index, int worker)>;
  void run(std::size_t count, const Work& work);

 private:
  struct Job {
    const Work* work;
    std::size_t count, next = 0, running = 0;
    std::exception_ptr failure;
    std::condition_variable ended;
  };

  void serve(int worker);
  void close();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Job*> waiting_;  // jobs with calls left to start; the workers only move them, which allocates nothing
  bool closing_ = false;
  std::vector<std::thread> threads_;
  pid_t process_;  // which has the threads
};

/// The process's pool of `threads` threads. Created on the first call and shared by all callers for as long as one of
/// them holds it. A forked process gets one of its own, and does not wait for the threads of its parent's.
std::shared_ptr<ThreadPool> shared_pool(int threads);

}  // namespace relucent
