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

/// The cross-encoder on the device of `[rescorer] device`, and one on the CPU that answers where a GPU fails and
/// fallback_device = "cpu". The latter is loaded at the first failure. Thread-safe: nothing is locked while a model is
/// loaded, and no search waits for one beyond its deadline.
class DeviceFallback {
 public:
  /// Throws Error. A GPU that cannot be had is one only where fallback_device = "none" and on_error = "fail".
  explicit DeviceFallback(const RescorerConfig& config);

  struct Answer {
    PairScores scores;
    std::string reason;  ///< why the CPU answered instead of the GPU; empty: it did not
  };
  /// Each call tries the GPU first, except where its precision does not fit the checkpoint: after several overflows in
  /// a row the CPU is asked alone. Throws Error: what the device said, where nothing else may answer; `deadline` or
  /// `interrupted` when `stop` is due.
  Answer score(std::string_view query, std::span<const PairDocument> documents, const StopSignal& stop) const;

  /// The encoder that answers while all goes well, else the one that stands in; null where there is neither.
  std::shared_ptr<const CrossEncoder> encoder() const;
  /// Why there is no encoder on the configured device just now; empty: there is one.
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
  mutable std::optional<Error> absent_;  // why there is none on the configured device
  mutable std::chrono::steady_clock::time_point try_again_;
  mutable int failures_ = 0, overflows_ = 0;     // in a row
  mutable bool does_not_fit_ = false;            // the precision the checkpoint
  mutable LoadedEncoder configured_, stand_in_;  // last: a load under way uses what is above
};

}  // namespace relucent
