#pragma once

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "plugin/second_stage/encoder_options.h"
#include "plugin/second_stage/loaded_encoder.h"
#include "relucent/config.h"
#include "relucent/error.h"
#include "relucent/kernels/backend.h"
#include "relucent/scorer.h"

namespace relucent {

namespace fallback {
// Loading reads the whole checkpoint, so not every search retries an absent GPU.
inline constexpr auto kTryAgainAfter = std::chrono::seconds(5);
// After this many failures in a row the weights are uploaded again, in case the device was lost.
inline constexpr int kFailuresUntilReload = 3;
}  // namespace fallback

/// The encoder on `[rescorer] device`, with a fallback to the CPU if a GPU fails and fallback_device = "cpu". The
/// fallback is loaded at the first failure. Thread-safe: no lock is held while a model loads, and no search waits for a
/// model beyond its deadline.
template <typename Model>
class DeviceFallback {
 public:
  using Load = std::function<std::shared_ptr<const Model>(const ScorerConfig&, const BackendOptions&)>;

  /// Throws Error. An unavailable GPU is an Error only if fallback_device = "none" and on_error = "fail".
  DeviceFallback(const ScorerConfig& config, OnError on_error, Load load_on);

  template <typename Scores>
  struct Answer {
    Scores scores;
    std::string reason;  ///< why the CPU scored instead of the GPU; empty if it did not
  };
  /// score(encoder) on the GPU first, then on the CPU if the GPU failed or could not compute these texts
  /// (`unsupported`: an activation beyond fp16's range, an input that is too long). Only failures count against the
  /// GPU: whoever sends such texts must not keep other searches off it. Throws Error: the device's error if no fallback
  /// is allowed; `deadline` or `interrupted` when `stop` is due.
  template <typename Score>
  auto score(const Score& score, const StopSignal& stop) const -> Answer<std::invoke_result_t<Score, const Model&>>;

  /// The encoder on the configured device, else the fallback; null if neither is loaded.
  std::shared_ptr<const Model> encoder() const;
  /// The same; throws Error instead of returning null: why the configured device has none.
  std::shared_ptr<const Model> needed_encoder() const;
  /// Scorer::notice(): why the configured device, or any GPU, is not used.
  std::string notice() const;
  /// Scorer::warning(): that a GPU is there and failed, so that device = "auto" chose the CPU.
  std::string warning() const;
  /// Why there is currently no encoder on the configured device; empty if there is one.
  std::string problem() const;

 private:
  std::shared_ptr<const Model> load(const Device& device) const;
  std::shared_ptr<const Model> load_configured() const;
  bool may_fall_back() const { return config_.fallback_device == FallbackDevice::cpu; }
  bool may_load() const;
  std::shared_ptr<const Model> configured(const StopSignal& stop) const;
  std::shared_ptr<const Model> stand_in(const StopSignal& stop) const;
  void note_answer() const;
  void note_failure(const std::shared_ptr<const Model>& encoder, const Error& error) const;

  ScorerConfig config_;
  Load load_;
  mutable std::mutex mutex_;             // of the next three
  mutable std::optional<Error> absent_;  // why the configured device has no encoder
  mutable std::chrono::steady_clock::time_point try_again_;
  mutable int failures_ = 0;                            // of the device, in a row
  mutable LoadedEncoder<Model> configured_, stand_in_;  // last: a running load uses the members above
};

template <typename Model>
DeviceFallback<Model>::DeviceFallback(const ScorerConfig& config, OnError on_error, Load load_on)
    : config_(config),
      load_(std::move(load_on)),
      configured_([this] { return load_configured(); }),
      stand_in_([this] { return load(Device::cpu()); }) {
  try {
    configured_.load_now();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    if (!may_fall_back() && on_error == OnError::fail) throw;
    if (may_fall_back()) stand_in_.load_now();
  }
}

template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::load(const Device& device) const {
  BackendOptions options = backend_options(config_);
  options.device = device;
  // As a fallback, the CPU replaces a precision it lacks with its best one.
  const bool only_on_gpus = config_.precision == Precision::fp16 || config_.precision == Precision::tf32;
  if (device != config_.device && only_on_gpus) options.precision = Precision::automatic;
  return load_(config_, options);
}

template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::load_configured() const {
  try {
    auto encoder = load(config_.device);
    const std::lock_guard lock(mutex_);
    absent_.reset();
    failures_ = 0;
    return encoder;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    absent_ = copy_of(error);
    try_again_ = std::chrono::steady_clock::now() + fallback::kTryAgainAfter;
    throw;
  }
}

template <typename Model>
bool DeviceFallback<Model>::may_load() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::steady_clock::now() >= try_again_;
}

/// Null if it is not available in time; absent_ has the reason.
template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::configured(const StopSignal& stop) const {
  if (auto encoder = configured_.get()) return encoder;
  const bool began = may_load() && configured_.begin();
  // The CPU answers sooner than a model loads. So only the search that starts loading waits, and only if it has no
  // deadline.
  const bool may_wait = began && !stop.deadline;
  if (!may_wait && may_fall_back() && stand_in_.get()) return nullptr;
  try {
    return configured_.wait(stop);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::deadline || error.kind() == ErrorKind::interrupted) throw;
    return nullptr;
  }
}

template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::stand_in(const StopSignal& stop) const {
  if (auto encoder = stand_in_.get()) return encoder;
  stand_in_.begin();
  return stand_in_.wait(stop);
}

template <typename Model>
void DeviceFallback<Model>::note_answer() const {
  const std::lock_guard lock(mutex_);
  failures_ = 0;
}

template <typename Model>
void DeviceFallback<Model>::note_failure(const std::shared_ptr<const Model>& encoder, const Error& error) const {
  const std::lock_guard lock(mutex_);
  if (configured_.get() != encoder || ++failures_ < fallback::kFailuresUntilReload) return;
  failures_ = 0;
  absent_ = copy_of(error);
  try_again_ = std::chrono::steady_clock::now();
  configured_.forget(encoder);
}

template <typename Model>
template <typename Score>
auto DeviceFallback<Model>::score(const Score& score, const StopSignal& stop) const
    -> Answer<std::invoke_result_t<Score, const Model&>> {
  std::optional<Error> failure;
  if (const auto encoder = configured(stop)) {
    try {
      Answer<std::invoke_result_t<Score, const Model&>> answer{score(*encoder), {}};
      note_answer();
      return answer;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::device) {
        note_failure(encoder, error);
      } else if (error.kind() != ErrorKind::unsupported) {
        throw;
      }
      failure = error;
    }
  } else {
    const std::lock_guard lock(mutex_);
    if (absent_) failure = copy_of(*absent_);
  }
  if (!failure) failure = Error(ErrorKind::device, "device " + to_string(config_.device), "is being loaded");
  if (!may_fall_back()) throw *failure;
  try {
    return {score(*stand_in(stop)), fmt::format("scored on the CPU, because {}", failure->what())};
  } catch (const Error& error) {
    if (std::string_view(error.what()) == failure->what()) throw;  // the texts' fault on any device
    throw Error(error.kind(), error.place(),
                fmt::format("{} (on the CPU, used as fallback because {})", error.problem(), failure->what()),
                error.remedy());
  }
}

template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::encoder() const {
  auto encoder = configured_.get();
  return encoder ? encoder : stand_in_.get();
}

template <typename Model>
std::shared_ptr<const Model> DeviceFallback<Model>::needed_encoder() const {
  if (auto one = encoder()) return one;
  const std::lock_guard lock(mutex_);
  throw absent_ ? copy_of(*absent_)
                : Error(ErrorKind::device, "device " + to_string(config_.device), "is being loaded");
}

template <typename Model>
std::string DeviceFallback<Model>::problem() const {
  const bool there = configured_.get() != nullptr;
  const std::lock_guard lock(mutex_);
  return there || !absent_ ? "" : absent_->what();
}

template <typename Model>
std::string DeviceFallback<Model>::notice() const {
  if (const std::string why = problem(); !why.empty())
    return fmt::format("{} is not available: {}", to_string(config_.device), why);
  const auto one = encoder();
  const std::string why = one && !one->backend().gpu_failed ? one->backend().why_no_gpu : "";
  return why.empty() ? "" : "no GPU is used: " + why;
}

template <typename Model>
std::string DeviceFallback<Model>::warning() const {
  const auto one = encoder();
  if (!one || !one->backend().gpu_failed) return {};
  return fmt::format("the CPU is used although there is a GPU: {}; choose device = \"cpu\" if that is intended",
                     one->backend().why_no_gpu);
}

/// What the built-in scorers have in common: a model with a fallback to the CPU.
template <typename Model>
class ModelScorer : public Scorer {
 public:
  void score(std::string_view query, std::span<const Candidate> candidates, std::span<CandidateScore> scores,
             const StopSignal& stop) const final {
    timed_score(query, candidates, scores, stop);
  }
  bool cacheable() const override { return true; }
  std::string describe() const final {
    const auto model = models_.encoder();
    return model ? describe_model(*model) : fmt::format("{}, not loaded: {}", kind_, models_.problem());
  }
  std::string notice() const final { return models_.notice(); }
  std::string warning() const override { return models_.warning(); }

 protected:
  /// @param kind  of the models, as in "cross-encoder, not loaded"
  ModelScorer(std::string_view kind, const ScorerConfig& config, OnError on_error,
              typename DeviceFallback<Model>::Load load)
      : models_(config, on_error, std::move(load)), kind_(kind) {}

  /// describe() of a loaded model.
  virtual std::string describe_model(const Model& model) const = 0;

  DeviceFallback<Model> models_;

 private:
  std::string_view kind_;
};

}  // namespace relucent
