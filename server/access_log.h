#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/file/unique_fd.h"
#include "server/http.h"

namespace relucent::server {

/// One JSON object per answered request and line, written by a thread of its own: whoever does not read the log delays
/// no answer. Lines that cannot be written, and those above 1 MiB that wait, are dropped and counted. Thread-safe.
class AccessLog {
 public:
  /// "-": standard output; empty: no log. Throws Error `io` if the file cannot be written.
  explicit AccessLog(const std::string& file);
  /// Waits for the thread.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// `client`: who is served in turns.
  void add(const HttpRequest& request, const HttpResponse& response, const std::string& client, bool cut);
  /// Opens the file again, for tools that rename it. Throws Error `io`.
  void reopen();
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// Writes what waits, for at most `limit`; nothing is written afterwards. False if the thread has not ended by then.
  bool close(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;

  UniqueFd open() const;
  void append(const std::string& line);
  void write_lines();
  void tell_dropped();
  void write(std::string_view lines);
  bool wait_until_writable(int descriptor);

  std::string file_;
  UniqueFd out_;                            // the thread's; none: standard output
  std::atomic<std::uint64_t> dropped_ = 0;  // lines
  std::uint64_t told_ = 0;                  // of dropped_, in the log

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  UniqueFd reopened_;
  bool closing_ = false, ended_ = true;
  Clock::time_point end_ = Clock::time_point::max();  // of writing
  std::jthread writer_;
};

}  // namespace relucent::server
