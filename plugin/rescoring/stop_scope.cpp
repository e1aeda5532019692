#include "relucent/stop_scope.h"

#include <utility>

namespace relucent {
namespace {
thread_local const StopScope* innermost = nullptr;
}

StopScope::StopScope(StopSignal signal) : signal_(std::move(signal)), outer_(innermost) { innermost = this; }

StopScope::~StopScope() { innermost = outer_; }

const StopSignal* StopScope::current() noexcept { return innermost != nullptr ? &innermost->signal_ : nullptr; }

}  // namespace relucent
