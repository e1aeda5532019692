#pragma once

#include "relucent/export.h"
#include "relucent/stop.h"

namespace relucent {

/// During its lifetime, the second stage of searches on this thread ends when `signal` is due: with Error `interrupted`
/// when it was asked to stop, and at its deadline as at that of `[rescorer] timeout_ms` (the earlier one counts).
/// Scopes nest; the innermost one counts. Uses no Lucene++ types.
class RELUCENT_API StopScope {
 public:
  explicit StopScope(StopSignal signal);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  /// The innermost scope's signal on this thread, or nullptr.
  static const StopSignal* current() noexcept;

 private:
  StopSignal signal_;
  const StopScope* outer_;
};

}  // namespace relucent
