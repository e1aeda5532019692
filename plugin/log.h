#pragma once

#include <memory>
#include <string>

#include "relucent/config.h"

namespace spdlog {
class logger;
}

namespace relucent {

/// Messages of one searcher, as [log] says: to standard error or appended to a file, never to standard output. Its
/// logger is not registered with spdlog, so that a host's own loggers are left alone. Thread-safe.
class Log {
 public:
  /// Throws Error `io` where the file cannot be written.
  explicit Log(const LogConfig& config);
  ~Log();

  void debug(const std::string& message) const;
  void info(const std::string& message) const;
  void warning(const std::string& message) const;
  bool wants_debug() const;

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace relucent
