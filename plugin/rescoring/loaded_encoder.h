#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/stop.h"

namespace relucent {

/// An equal Error that shares no memory with `error`: a copy shares its what() with the original, by a count that
/// ThreadSanitizer cannot see.
Error copy_of(const Error& error);

/// An encoder that a thread of its own loads: whoever needs it waits no longer than their StopSignal allows, and nobody
/// holds a mutex meanwhile. Thread-safe.
class LoadedEncoder {
 public:
  using Load = std::function<std::shared_ptr<const CrossEncoder>()>;

  /// @param load  called by one thread at a time; may throw
  explicit LoadedEncoder(Load load) : load_(std::move(load)) {}
  /// Waits for a load that is under way.
  ~LoadedEncoder();
  LoadedEncoder(const LoadedEncoder&) = delete;
  LoadedEncoder& operator=(const LoadedEncoder&) = delete;

  /// Loads in the calling thread, before others know of this. Throws what `load` throws.
  void load_now();
  /// Begins to load where it is neither loaded nor being loaded. Returns whether this call began it.
  bool begin();
  /// The encoder once it is loaded; waits while it is being loaded. Null where nobody began. Throws Error: what `load`
  /// threw, and `deadline` or `interrupted` when `stop` is due.
  std::shared_ptr<const CrossEncoder> wait(const StopSignal& stop);
  /// The encoder, or null while there is none. Never waits.
  std::shared_ptr<const CrossEncoder> get() const;
  /// Forgets `encoder` where it is the one that is loaded.
  void forget(const std::shared_ptr<const CrossEncoder>& encoder);

 private:
  void run();

  Load load_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable_any ended_;
  bool loading_ = false;
  std::shared_ptr<const CrossEncoder> encoder_;
  std::optional<Error> failure_;  // of the last load
  std::thread thread_;            // of the last load
};

}  // namespace relucent
