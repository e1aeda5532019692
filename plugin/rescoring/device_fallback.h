#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// The cross-encoder on the device of `[rescorer] device`, and one on the CPU that answers where a GPU fails and
/// fallback_device = "cpu". The latter is loaded at the first failure. Thread-safe.
class DeviceFallback {
 public:
  /// Throws Error. A GPU that cannot be had is one only where fallback_device = "none" and on_error = "fail".
  explicit DeviceFallback(const RescorerConfig& config);

  struct Answer {
    PairScores scores;
    std::string reason;  ///< why the CPU answered instead of the GPU; empty: it did not
  };
  /// Each call tries the GPU first. Throws Error: what the device said, where nothing else may answer.
  Answer score(std::string_view query, std::span<const PairDocument> documents, const StopSignal& stop) const;

  /// The encoder that answers while all goes well, else the one that stands in; null where there is neither.
  std::shared_ptr<const CrossEncoder> encoder() const;
  /// Why there is no encoder on the configured device just now; empty: there is one.
  std::string problem() const;

 private:
  std::shared_ptr<const CrossEncoder> load(const std::string& device) const;
  bool may_fall_back() const { return config_.fallback_device == "cpu"; }
  std::shared_ptr<const CrossEncoder> configured() const;
  std::shared_ptr<const CrossEncoder> stand_in() const;
  void note_failure(const std::shared_ptr<const CrossEncoder>& encoder) const;

  RescorerConfig config_;
  mutable std::mutex mutex_;  // of all below
  mutable std::shared_ptr<const CrossEncoder> configured_, stand_in_;
  mutable std::optional<Error> absent_;  // why configured_ is null
  mutable std::chrono::steady_clock::time_point try_again_;
  mutable int failures_ = 0;             // of configured_ in a row
};

}  // namespace relucent
