#pragma once

#include "relucent/export.h"
#include "relucent/stop.h"

namespace relucent {

/// During its lifetime, the second stage of searches on this thread also stops when `stop` is due: at its deadline as
/// at [rescorer] timeout_ms, whichever comes first, and on request with Error `interrupted`. For hosts whose requests
/// have deadlines of their own. Scopes nest; the innermost one counts.
class RELUCENT_API SearchStopScope {
 public:
  explicit SearchStopScope(StopSignal stop);
  ~SearchStopScope();
  SearchStopScope(const SearchStopScope&) = delete;
  SearchStopScope& operator=(const SearchStopScope&) = delete;

  /// The innermost scope's signal on this thread, or nullptr.
  static const StopSignal* current() noexcept;

 private:
  StopSignal stop_;
  const SearchStopScope* outer_;
};

}  // namespace relucent
