#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace relucent::index_tools {

/// Runs pieces of work 0, 1, ... count - 1 on several threads and returns their results in this order. Threads work at
/// most four pieces per thread ahead of the last returned one. With one job, or if no thread can start, the calling
/// thread does the work.
template <typename Result>
class OrderedJobs {
 public:
  using Work = std::function<Result(std::size_t)>;

  /// @param work  must be thread-safe if jobs > 1
  OrderedJobs(std::size_t count, int jobs, Work work) : count_(count), work_(std::move(work)) {
    const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
    if (threads < 2) return;
    slots_.resize(4 * threads);
    for (std::size_t i = 0; i < threads; ++i) {
      try {
        threads_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        break;  // fewer threads suffice
      }
    }
  }

  /// Waits for the running pieces; starts no further ones.
  ~OrderedJobs() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  OrderedJobs(const OrderedJobs&) = delete;
  OrderedJobs& operator=(const OrderedJobs&) = delete;

  /// Maximum number of pieces that run at once.
  int jobs() const { return std::max(1, static_cast<int>(threads_.size())); }

  /// Returns the next piece's result, or throws the exception that it ended with.
  /// @param look  called before waiting and every 50 ms while waiting; may throw
  template <typename Look>
  Result next(Look&& look) {
    look();
    if (threads_.empty()) return work_(handed_out_++);
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[handed_out_ % slots_.size()];
    while (!slot.done) {
      if (done_.wait_for(lock, std::chrono::milliseconds(50), [&slot] { return slot.done; })) break;
      lock.unlock();
      look();
      lock.lock();
    }
    Slot taken = std::move(slot);
    slot.done = false;
    slot.result.reset();
    slot.failure = nullptr;
    ++handed_out_;
    lock.unlock();
    room_.notify_one();
    if (taken.failure) std::rethrow_exception(taken.failure);
    return std::move(*taken.result);
  }

 private:
  struct Slot {
    bool done = false;
    std::optional<Result> result;
    std::exception_ptr failure;
  };

  void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] { return stopping_ || begun_ == count_ || begun_ < handed_out_ + slots_.size(); });
      if (stopping_ || begun_ == count_) return;
      const std::size_t piece = begun_++;
      lock.unlock();
      Slot slot;
      slot.done = true;
      try {
        slot.result.emplace(work_(piece));
      } catch (...) {
        slot.failure = std::current_exception();
      }
      lock.lock();
      slots_[piece % slots_.size()] = std::move(slot);
      lock.unlock();
      done_.notify_one();
    }
  }

  const std::size_t count_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable room_, done_;
  std::vector<Slot> slots_;  // of pieces handed_out_ ... handed_out_ + size - 1, each at its number modulo size
  std::size_t begun_ = 0, handed_out_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace relucent::index_tools
