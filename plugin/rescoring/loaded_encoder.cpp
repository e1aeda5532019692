#include "plugin/rescoring/loaded_encoder.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace relucent {

Error copy_of(const Error& error) { return {error.kind(), error.place(), error.problem(), error.remedy()}; }

LoadedEncoder::~LoadedEncoder() {
  if (thread_.joinable()) thread_.join();
}

void LoadedEncoder::load_now() {
  auto loaded = load_();
  const std::lock_guard lock(mutex_);
  encoder_ = std::move(loaded);
}

bool LoadedEncoder::begin() {
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

void LoadedEncoder::run() {
  std::shared_ptr<const CrossEncoder> loaded;
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

std::shared_ptr<const CrossEncoder> LoadedEncoder::wait(const StopSignal& stop) {
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

std::shared_ptr<const CrossEncoder> LoadedEncoder::get() const {
  const std::lock_guard lock(mutex_);
  return encoder_;
}

void LoadedEncoder::forget(const std::shared_ptr<const CrossEncoder>& encoder) {
  const std::lock_guard lock(mutex_);
  if (encoder_ == encoder) encoder_.reset();
}

}  // namespace relucent
