#pragma once

namespace relucent::index_tools {

/// While a guard lives, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP only sets a flag, so that work can end in order; a
/// second one ends the process immediately. On a terminal, the first Ctrl-C is acknowledged on standard error. Ignored
/// signals stay ignored. At most one guard at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted() noexcept;
};

}  // namespace relucent::index_tools
