#include "base/thread_pool.h"

#include <fmt/core.h>
#include <unistd.h>

#include <map>
#include <new>
#include <system_error>
#include <utility>

#include "base/own_process.h"
#include "relucent/error.h"

namespace relucent {

ThreadPool::ThreadPool(int threads) : process_(::getpid()) {
  threads_.reserve(static_cast<std::size_t>(threads));
  try {
    for (int worker = 0; worker < threads; ++worker) {
      threads_.emplace_back([this, worker] { serve(worker); });
    }
  } catch (const std::bad_alloc&) {
    close();
    throw;
  } catch (const std::system_error& error) {
    close();
    throw Error(ErrorKind::io, "threads",
                fmt::format("the system started only {} of {} threads: {}", threads_.size(), threads, error.what()),
                "use fewer threads");
  }
}

ThreadPool::~ThreadPool() { close(); }

void ThreadPool::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(std::size_t count, const Work& work) {
  if (count == 0) return;
  if (::getpid() != process_) {
    throw Error(ErrorKind::usage, "threads", "belong to the process that this one was forked from",
                "make the object that computes after the fork");
  }
  Job job{.work = &work, .count = count, .failure = nullptr, .ended = {}};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&job);
  if (count < threads_.size()) {
    for (std::size_t i = 0; i < count; ++i) wake_.notify_one();
  } else {
    wake_.notify_all();
  }
  job.ended.wait(lock, [&job] { return job.next == job.count && job.running == 0; });
  if (job.failure) std::rethrow_exception(job.failure);
}

void ThreadPool::serve(int worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Job* job = waiting_.front();
    const std::size_t index = job->next++;
    ++job->running;
    if (job->next < job->count) {
      waiting_.splice(waiting_.end(), waiting_, waiting_.begin());  // behind the other jobs: they take turns
    } else {
      waiting_.pop_front();
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*job->work)(index, worker);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --job->running;
    if (failure) {
      if (!job->failure) job->failure = failure;
      std::erase(waiting_, job);
      job->next = job->count;
    }
    if (job->next == job->count && job->running == 0) job->ended.notify_one();
  }
}

std::shared_ptr<ThreadPool> shared_pool(int threads) {
  static std::mutex mutex;
  static std::map<std::pair<pid_t, int>, std::weak_ptr<ThreadPool>> pools;  // a forked process has none of the threads
  const std::lock_guard lock(mutex);
  std::weak_ptr<ThreadPool>& known = pools[{::getpid(), threads}];
  auto pool = known.lock();
  if (!pool) {
    pool = OwnedByProcess<ThreadPool>(std::make_unique<ThreadPool>(threads));
    known = pool;
  }
  return pool;
}

}  // namespace relucent
