#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "relucent/error.h"
#include "relucent/stop.h"

namespace relucent {

/// An equal Error that shares no memory with `error`. A plain copy shares its what() with the original through a
/// reference count that ThreadSanitizer cannot see.
inline Error copy_of(const Error& error) { return {error.kind(), error.place(), error.problem(), error.remedy()}; }

/// An encoder, a CrossEncoder, MixEncoder or PassageModel, loaded by a separate thread. Callers wait no longer than
/// their StopSignal allows, and no mutex is held meanwhile. Thread-safe.
template <typename Model>
class LoadedEncoder {
 public:
  using Load = std::function<std::shared_ptr<const Model>()>;

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
  std::shared_ptr<const Model> wait(const StopSignal& stop);
  /// The encoder, or null while there is none. Never waits.
  std::shared_ptr<const Model> get() const;
  /// Releases `encoder` if it is the loaded one.
  void forget(const std::shared_ptr<const Model>& encoder);

 private:
  void run();

  Load load_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable_any ended_;
  bool loading_ = false;
  std::shared_ptr<const Model> encoder_;
  std::optional<Error> failure_;  // of the last load
  std::thread thread_;            // of the last load
  pid_t process_ = ::getpid();
};

template <typename Model>
LoadedEncoder<Model>::~LoadedEncoder() {
  if (!thread_.joinable()) return;
  if (::getpid() == process_) {
    thread_.join();
  } else {  // a forked process does not have the thread, and must forget it without waiting
    [[maybe_unused]] const auto* forgotten = new std::thread(std::move(thread_));
  }
}

template <typename Model>
void LoadedEncoder<Model>::load_now() {
  auto loaded = load_();
  const std::lock_guard lock(mutex_);
  encoder_ = std::move(loaded);
}

template <typename Model>
bool LoadedEncoder<Model>::begin() {
  std::thread ended;  // of the previous load, joined without the mutex
  bool here = false;
  {
    const std::lock_guard lock(mutex_);
    if (encoder_ || loading_) return false;
    loading_ = true;
    failure_.reset();
    ended = std::move(thread_);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no thread available: load in the calling thread
      here = true;
    }
  }
  if (ended.joinable()) ended.join();
  if (here) run();
  return true;
}

template <typename Model>
void LoadedEncoder<Model>::run() {
  std::shared_ptr<const Model> loaded;
  std::optional<Error> failure;
  try {
    loaded = load_();
  } catch (const Error& error) {
    failure = copy_of(error);
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::io, "model", fmt::format("cannot be loaded: {}", error.what()));
  }
  {
    const std::lock_guard lock(mutex_);
    encoder_ = std::move(loaded);
    failure_ = std::move(failure);
    loading_ = false;
  }
  ended_.notify_all();
}

template <typename Model>
std::shared_ptr<const Model> LoadedEncoder<Model>::wait(const StopSignal& stop) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return !loading_; };
  if (stop.deadline) {
    ended_.wait_until(lock, stop.stop, *stop.deadline, ready);
  } else {
    ended_.wait(lock, stop.stop, ready);
  }
  if (loading_) stop.throw_if_due("loading the model");
  if (failure_) throw copy_of(*failure_);
  return encoder_;
}

template <typename Model>
std::shared_ptr<const Model> LoadedEncoder<Model>::get() const {
  const std::lock_guard lock(mutex_);
  return encoder_;
}

template <typename Model>
void LoadedEncoder<Model>::forget(const std::shared_ptr<const Model>& encoder) {
  const std::lock_guard lock(mutex_);
  if (encoder_ == encoder) encoder_.reset();
}

}  // namespace relucent
