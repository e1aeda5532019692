#include "relucent/stop_scope.h"

#include <utility>

namespace relucent {
namespace {
thread_local const StopScope* innermost_stop = nullptr;
}

StopScope::StopScope(StopSignal signal) : signal_(std::move(signal)), outer_(innermost_stop) { innermost_stop = this; }

StopScope::~StopScope() { innermost_stop = outer_; }

const StopSignal* StopScope::current() noexcept {
  return innermost_stop != nullptr ? &innermost_stop->signal_ : nullptr;
}

}  // namespace relucent
