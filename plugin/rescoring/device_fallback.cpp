#include "plugin/rescoring/device_fallback.h"

#include <fmt/format.h>

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

// Loading reads the whole checkpoint, so not every search retries an absent GPU.
constexpr auto kTryAgainAfter = std::chrono::seconds(5);
// After this many failures in a row the weights are uploaded again, in case the device was lost.
constexpr int kFailuresUntilReload = 3;
// After this many searches in a row with overflowing activations, the checkpoint counts as unfit for the GPU's
// precision. A single odd document must not keep all searches off the GPU.
constexpr int kOverflowsUntilGivenUp = 3;

LongDocuments long_documents_of(LongDocumentMode mode) {
  switch (mode) {
    case LongDocumentMode::truncate: return LongDocuments::truncate;
    case LongDocumentMode::maxp: return LongDocuments::maxp;
    case LongDocumentMode::firstp: return LongDocuments::firstp;
    case LongDocumentMode::sump: return LongDocuments::sump;
    case LongDocumentMode::avgp: return LongDocuments::avgp;
    case LongDocumentMode::topk: return LongDocuments::topk;
  }
  return LongDocuments::truncate;
}

std::optional<NamedPattern> pattern_of(PatternChoice choice) {
  switch (choice) {
    case PatternChoice::checkpoint: return std::nullopt;
    case PatternChoice::full: return NamedPattern::full;
    case PatternChoice::longformer: return NamedPattern::longformer;
    case PatternChoice::qds: return NamedPattern::qds;
    case PatternChoice::sparse: return NamedPattern::sparse;
  }
  return std::nullopt;
}

Error while_standing_in(const Error& error, const std::string& why) {
  return {error.kind(), error.place(),
          fmt::format("{} (on the CPU, used as fallback because {})", error.problem(), why), error.remedy()};
}

}  // namespace

DeviceFallback::DeviceFallback(const RescorerConfig& config)
    : config_(config),
      configured_([this] { return load_configured(); }),
      stand_in_([this] { return load(Device::cpu()); }) {
  try {
    configured_.load_now();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    if (!may_fall_back() && config_.on_error == OnError::fail) throw;
    if (may_fall_back()) stand_in_.load_now();
  }
}

std::shared_ptr<const CrossEncoder> DeviceFallback::load(const Device& device) const {
  CrossEncoderOptions options;
  options.backend.device = device;
  options.backend.precision = config_.precision;
  // As a fallback, the CPU replaces a precision it lacks with its best one.
  const bool only_on_gpus = config_.precision == Precision::fp16 || config_.precision == Precision::tf32;
  if (device != config_.device && only_on_gpus) options.backend.precision = Precision::automatic;
  options.backend.threads = config_.threads;
  options.max_length = config_.max_length;
  options.attention_window = config_.attention_window;
  options.pattern = pattern_of(config_.pattern);
  options.long_documents = long_documents_of(config_.long_documents);
  options.by_sentences = config_.chunk_by == ChunkBy::sentences;
  options.chunk = config_.chunk;
  options.stride = config_.stride;
  options.max_chunks = config_.max_chunks;
  options.first_chunks = config_.keep_chunks == KeepChunks::first;
  options.top_chunks = config_.top_chunks;
  return CrossEncoder::load(config_.model.empty() ? default_model() : std::filesystem::path(config_.model), options);
}

std::shared_ptr<const CrossEncoder> DeviceFallback::load_configured() const {
  try {
    auto encoder = load(config_.device);
    const std::lock_guard lock(mutex_);
    absent_.reset();
    failures_ = 0;
    return encoder;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    absent_ = copy_of(error);
    try_again_ = Clock::now() + kTryAgainAfter;
    throw;
  }
}

bool DeviceFallback::may_load() const {
  const std::lock_guard lock(mutex_);
  return !does_not_fit_ && Clock::now() >= try_again_;
}

/// Null if it is not available in time; absent_ says why.
std::shared_ptr<const CrossEncoder> DeviceFallback::configured(const StopSignal& stop) const {
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

std::shared_ptr<const CrossEncoder> DeviceFallback::stand_in(const StopSignal& stop) const {
  if (auto encoder = stand_in_.get()) return encoder;
  stand_in_.begin();
  return stand_in_.wait(stop);
}

void DeviceFallback::note_answer() const {
  const std::lock_guard lock(mutex_);
  failures_ = overflows_ = 0;
}

void DeviceFallback::note_failure(const std::shared_ptr<const CrossEncoder>& encoder, const Error& error) const {
  const std::lock_guard lock(mutex_);
  if (configured_.get() != encoder || ++failures_ < kFailuresUntilReload) return;
  failures_ = 0;
  absent_ = copy_of(error);
  try_again_ = Clock::now();
  configured_.forget(encoder);
}

void DeviceFallback::note_overflow(const std::shared_ptr<const CrossEncoder>& encoder, const Error& error) const {
  const std::lock_guard lock(mutex_);
  // Without the CPU, queries that do not overflow would fail too.
  if (!may_fall_back() || configured_.get() != encoder || ++overflows_ < kOverflowsUntilGivenUp) return;
  does_not_fit_ = true;
  absent_ = copy_of(error);
  configured_.forget(encoder);
}

DeviceFallback::Answer DeviceFallback::score(std::string_view query, std::span<const PairDocument> documents,
                                             const StopSignal& stop) const {
  std::optional<Error> failure;
  if (const auto encoder = configured(stop)) {
    try {
      Answer answer{encoder->score_documents(query, documents, stop), {}};
      note_answer();
      return answer;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::device) {
        note_failure(encoder, error);
      } else if (error.kind() == ErrorKind::unsupported) {
        note_overflow(encoder, error);
      } else {
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
    return {stand_in(stop)->score_documents(query, documents, stop),
            fmt::format("scored on the CPU, because {}", failure->what())};
  } catch (const Error& error) {
    throw while_standing_in(error, failure->what());
  }
}

std::shared_ptr<const CrossEncoder> DeviceFallback::encoder() const {
  auto encoder = configured_.get();
  return encoder ? encoder : stand_in_.get();
}

std::string DeviceFallback::problem() const {
  const bool there = configured_.get() != nullptr;
  const std::lock_guard lock(mutex_);
  return there || !absent_ ? "" : absent_->what();
}

}  // namespace relucent
