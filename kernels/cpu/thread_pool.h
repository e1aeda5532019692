#pragma once

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

namespace relucent::cpu {

/// Threads that share out numbered pieces of work; asleep while there is none. Any number of threads may call run() at
/// once: their pieces are taken in turns.
class ThreadPool {
 public:
  /// Throws Error `io` where the system refuses so many threads, std::bad_alloc where it lacks the memory.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return static_cast<int>(threads_.size()); }

  /// Calls work(index, worker) for every index below `count` on the pool's threads, 0 <= worker < size(), one call a
  /// worker at a time; returns when all have ended. After an exception no further piece begins, and the first one
  /// is thrown here.
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
  std::list<Job*> waiting_;  // jobs with pieces left to begin; the workers only move them, which allocates nothing
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

/// The process's pool of `threads` threads, made when first asked for and shared by all who ask while one of them holds
/// it.
std::shared_ptr<ThreadPool> shared_pool(int threads);

}  // namespace relucent::cpu
