#include "relucent/stop.h"

#include "relucent/error.h"

namespace relucent {

void StopSignal::throw_if_due(const char* doing) const {
  if (stop.stop_requested()) throw Error(ErrorKind::interrupted, {}, std::string(doing) + " was interrupted");
  if (past_deadline()) {
    throw Error(ErrorKind::deadline, {}, std::string(doing) + " ran out of time",
                "raise [rescorer] timeout_ms, lower [rescorer] window, or use a faster device");
  }
}

}  // namespace relucent
