#include "relucent/search_stop.h"

#include <utility>

namespace relucent {
namespace {

thread_local const SearchStopScope* innermost = nullptr;

}  // namespace

SearchStopScope::SearchStopScope(StopSignal stop) : stop_(std::move(stop)), outer_(innermost) { innermost = this; }
SearchStopScope::~SearchStopScope() { innermost = outer_; }

const StopSignal* SearchStopScope::current() noexcept { return innermost != nullptr ? &innermost->stop_ : nullptr; }

}  // namespace relucent
