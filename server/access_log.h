#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "server/http.h"

namespace relucent::server {

/// One JSON object per answered request and line. A line that cannot be written is dropped. Thread-safe.
class AccessLog {
 public:
  /// "-": standard output; empty: no log. Throws Error `io` if the file cannot be written.
  explicit AccessLog(const std::string& file);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// `client`: who is served in turns.
  void add(const HttpRequest& request, const HttpResponse& response, const std::string& client, bool cut);
  /// Opens the file anew, for tools that rename it.
  void reopen();

 private:
  void open();

  std::string file_;
  std::mutex mutex_;
  std::FILE* out_ = nullptr;
};

}  // namespace relucent::server
