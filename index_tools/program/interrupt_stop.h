#pragma once

#include <stop_token>
#include <thread>

#include "index_tools/indexing/interrupt.h"

namespace relucent::program {

/// While it lives, Ctrl-C (and SIGTERM, SIGHUP) asks the work that holds token() to stop. One at a time.
class InterruptStop {
 public:
  InterruptStop();
  ~InterruptStop();
  std::stop_token token() const { return source_.get_token(); }
  /// Throws Error `interrupted` where it was asked for.
  void throw_if_interrupted(const char* operation) const;

 private:
  index_tools::InterruptGuard guard_;
  std::stop_source source_;
  std::jthread watcher_;
};

/// From here on Ctrl-C ends the process at once with the program's exit code for it; for work that leaves nothing
/// behind.
void exit_when_interrupted();

}  // namespace relucent::program
