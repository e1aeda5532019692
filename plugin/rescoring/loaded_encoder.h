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

/// An equal Error that shares no memory with `error`. A plain copy shares its what() with the original through a
/// reference count that ThreadSanitizer cannot see.
Error copy_of(const Error& error);

/// An encoder loaded by a separate thread. Callers wait no longer than their StopSignal allows, and no mutex is held
/// meanwhile. Thread-safe.
class LoadedEncoder {
 public:
  using Load = std::function<std::shared_ptr<const CrossEncoder>()>;

  /// @param load  called by one thread at a time; may throw
  explicit LoadedEncoder(Load load) : load_(std::move(load)) {}
  /// Waits for a running load.
  ~LoadedEncoder();
  LoadedEncoder(const LoadedEncoder&) = delete;
  LoadedEncoder& operator=(const LoadedEncoder&) = delete;

  /// Loads in the calling thread, before other threads use this object. Throws what `load` throws.
  void load_now();
  /// Starts loading unless it is loaded or loading. Returns whether this call started it.
  bool begin();
  /// Waits for a running load and returns the encoder; null if no load was started. Throws Error: what `load` threw,
  /// and `deadline` or `interrupted` when `stop` is due.
  std::shared_ptr<const CrossEncoder> wait(const StopSignal& stop);
  /// The encoder, or null while there is none. Never waits.
  std::shared_ptr<const CrossEncoder> get() const;
  /// Releases `encoder` if it is the loaded one.
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
