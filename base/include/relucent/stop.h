#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "relucent/export.h"

namespace relucent {

/// When to give up: at a point in time, on request from another thread, or never. Cheap to copy. Long-running code
/// calls throw_if_due() every few milliseconds.
struct StopSignal {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::stop_token stop;

  bool past_deadline() const noexcept { return deadline && std::chrono::steady_clock::now() >= *deadline; }
  bool due() const noexcept { return stop.stop_requested() || past_deadline(); }

  /// The same signal with a deadline of `timeout` from now, unless its own is earlier; 0 adds none.
  RELUCENT_API StopSignal within(std::chrono::milliseconds timeout) const;

  /// Throws Error of kind `interrupted` or `deadline` when due; `operation` names the abandoned work.
  RELUCENT_API void throw_if_due(const char* operation) const;
};

}  // namespace relucent
