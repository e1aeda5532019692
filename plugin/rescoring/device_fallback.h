#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plugin/rescoring/loaded_encoder.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// The cross-encoder on `[rescorer] device`, with a fallback to the CPU if a GPU fails and fallback_device = "cpu". The
/// fallback is loaded at the first failure. Thread-safe: no lock is held while a model loads, and no search waits for a
/// model beyond its deadline.
class DeviceFallback {
 public:
  /// Throws Error. An unavailable GPU is an Error only if fallback_device = "none" and on_error = "fail".
  explicit DeviceFallback(const RescorerConfig& config);

  struct Answer {
    PairScores scores;
    std::string reason;  ///< why the CPU scored instead of the GPU; empty if it did not
  };
  /// Tries the GPU first, unless the checkpoint does not fit its precision: after several overflows in a row only the
  /// CPU is used. Throws Error: the device's error if no fallback is allowed; `deadline` or `interrupted` when `stop`
  /// is due.
  Answer score(std::string_view query, std::span<const PairDocument> documents, const StopSignal& stop) const;

  /// The encoder on the configured device, else the fallback; null if neither is loaded.
  std::shared_ptr<const CrossEncoder> encoder() const;
  /// Why there is currently no encoder on the configured device; empty if there is one.
  std::string problem() const;

 private:
  std::shared_ptr<const CrossEncoder> load(const Device& device) const;
  std::shared_ptr<const CrossEncoder> load_configured() const;
  bool may_fall_back() const { return config_.fallback_device == FallbackDevice::cpu; }
  bool may_load() const;
  std::shared_ptr<const CrossEncoder> configured(const StopSignal& stop) const;
  std::shared_ptr<const CrossEncoder> stand_in(const StopSignal& stop) const;
  void note_answer() const;
  void note_failure(const std::shared_ptr<const CrossEncoder>& encoder, const Error& error) const;
  void note_overflow(const std::shared_ptr<const CrossEncoder>& encoder, const Error& error) const;

  RescorerConfig config_;
  mutable std::mutex mutex_;             // of the next five
  mutable std::optional<Error> absent_;  // why the configured device has no encoder
  mutable std::chrono::steady_clock::time_point try_again_;
  mutable int failures_ = 0, overflows_ = 0;     // in a row
  mutable bool does_not_fit_ = false;            // the checkpoint exceeds the precision's range
  mutable LoadedEncoder configured_, stand_in_;  // last: a running load uses the members above
};

}  // namespace relucent
