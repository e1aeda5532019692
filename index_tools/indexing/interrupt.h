#pragma once

namespace relucent::index_tools {

/// While one lives, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP is only noted, so that work can end in order; a second
/// one ends the process at once. A signal that was ignored stays so. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted() noexcept;
};

}  // namespace relucent::index_tools
