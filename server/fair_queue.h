#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace relucent::server {

/// A bounded queue that serves its clients in turns: each gets one item out before any gets a second one, in the order
/// of their own items. If the queue is full, the client with the most items makes room for one that has at least two
/// fewer, so that nobody can fill the queue for all others. Thread-safe.
template <typename Item>
class FairQueue {
 public:
  explicit FairQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Returns what did not find room: nothing, `item` itself, or the newest one of another client.
  [[nodiscard]] std::optional<Item> push(const std::string& client, Item item) {
    std::optional<Item> refused;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return item;
      if (size_ >= capacity_) {
        const std::size_t own = items_of(client);
        const auto longest = longest_line();
        if (longest == lines_.end() || longest->second.size() < own + 2) return item;
        refused = std::move(longest->second.back());
        longest->second.pop_back();
        --size_;
      }
      std::deque<Item>& line = lines_[client];
      line.push_back(std::move(item));
      if (line.size() == 1) add_turn(client, line);
      ++size_;
    }
    arrived_.notify_one();
    return refused;
  }

  /// Waits for an item; nothing once the queue is closed and empty.
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return closed_ || size_ > 0; });
    if (size_ == 0) return std::nullopt;
    const auto line = lines_.find(turns_.front());
    if (line->second.size() > 1) turns_.push_back(turns_.front());
    turns_.pop_front();
    std::optional<Item> item(std::move(line->second.front()));
    line->second.pop_front();
    --size_;
    if (line->second.empty()) lines_.erase(line);
    return item;
  }

  /// Takes out all items for which `is_due` holds.
  template <typename Predicate>
  std::vector<Item> take_if(Predicate is_due) {
    std::vector<Item> taken;
    const std::lock_guard lock(mutex_);
    std::size_t due = 0;
    for (const auto& [client, line] : lines_) due += static_cast<std::size_t>(std::ranges::count_if(line, is_due));
    taken.reserve(2 * due);  // some more may become due
    for (auto line = lines_.begin(); line != lines_.end();) {
      auto kept = line->second.begin();
      for (Item& item : line->second) {
        if (taken.size() < taken.capacity() && is_due(item)) {
          taken.push_back(std::move(item));
        } else {
          if (&*kept != &item) *kept = std::move(item);
          ++kept;
        }
      }
      line->second.erase(kept, line->second.end());
      if (line->second.empty()) {
        std::erase(turns_, line->first);
        line = lines_.erase(line);
      } else {
        ++line;
      }
    }
    size_ -= taken.size();
    return taken;
  }

  /// From now on push() refuses; queued items can still be popped.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    arrived_.notify_all();
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return size_;
  }

 private:
  using Lines = std::map<std::string, std::deque<Item>>;

  /// Without memory for it the new item goes, not its turn alone.
  void add_turn(const std::string& client, std::deque<Item>& line) {
    try {
      turns_.push_back(client);
    } catch (...) {
      line.clear();
      lines_.erase(client);
      throw;
    }
  }

  std::size_t items_of(const std::string& client) const {
    const auto line = lines_.find(client);
    return line == lines_.end() ? 0 : line->second.size();
  }
  typename Lines::iterator longest_line() {
    auto longest = lines_.begin();
    for (auto line = lines_.begin(); line != lines_.end(); ++line) {
      if (line->second.size() > longest->second.size()) longest = line;
    }
    return longest;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  Lines lines_;                    // without empty ones
  std::deque<std::string> turns_;  // the clients of lines_, the next one first
  std::size_t size_ = 0;
  bool closed_ = false;
};

}  // namespace relucent::server
