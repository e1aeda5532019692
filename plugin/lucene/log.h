#pragma once

#include <memory>
#include <string>

#include "relucent/config.h"

namespace spdlog {
class logger;
}

namespace relucent {

/// Log of one searcher, configured by [log]: writes to standard error or appends to a file, never to standard output.
/// Its logger is not registered with spdlog, so it does not interfere with the host's loggers. Thread-safe.
class Log {
 public:
  /// Throws Error `io` if the file cannot be written.
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
