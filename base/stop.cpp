#include "relucent/stop.h"

#include "relucent/error.h"

namespace relucent {

void StopSignal::throw_if_due(const char* operation) const {
  if (stop.stop_requested()) throw Error(ErrorKind::interrupted, {}, std::string(operation) + " was interrupted");
  if (past_deadline()) {
    throw Error(ErrorKind::deadline, {}, std::string(operation) + " ran out of time",
                "raise [rescorer] timeout_ms, lower [rescorer] window, or use a faster device");
  }
}

}  // namespace relucent
