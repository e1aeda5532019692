#pragma once

#include <stop_token>
#include <thread>

#include "index_tools/indexing/interrupt.h"

namespace relucent::program {

/// While an object lives, Ctrl-C (or SIGTERM, SIGHUP) requests a stop of the work that holds token(). At most one at a
/// time.
class InterruptStop {
 public:
  InterruptStop();
  ~InterruptStop();
  std::stop_token token() const { return source_.get_token(); }
  /// Throws Error `interrupted` if a stop was requested.
  void throw_if_interrupted(const char* operation) const;

 private:
  index_tools::InterruptGuard guard_;
  std::stop_source source_;
  std::jthread watcher_;
};

/// From this call on, Ctrl-C ends the process immediately with ExitCode::interrupted. For work that leaves
/// nothing behind.
void exit_when_interrupted();

}  // namespace relucent::program
