#include "relucent/stop.h"

#include <fmt/core.h>

#include <algorithm>

#include "relucent/error.h"

namespace relucent {

StopSignal StopSignal::within(std::chrono::milliseconds timeout) const {
  StopSignal limited = *this;
  if (timeout.count() <= 0) return limited;
  const auto end = std::chrono::steady_clock::now() + timeout;
  limited.deadline = deadline ? std::min(*deadline, end) : end;
  return limited;
}

void StopSignal::throw_if_due(const char* operation) const {
  if (stop.stop_requested()) throw Error(ErrorKind::interrupted, {}, fmt::format("{} was interrupted", operation));
  if (past_deadline()) {
    throw Error(ErrorKind::deadline, {}, fmt::format("{} ran out of time", operation),
                "raise [rescorer] timeout_ms, lower [rescorer] window, or use a faster device");
  }
}

}  // namespace relucent
