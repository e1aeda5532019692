#include "rescoring/device_fallback.h"

namespace relucent {
namespace {

using Clock = std::chrono::steady_clock;

// Loading reads the whole checkpoint, so a GPU that is absent is not asked for at every search.
constexpr auto kTryAgainAfter = std::chrono::seconds(5);
// So many failures in a row, and the weights are uploaded anew: a lost device needs that.
constexpr int kFailuresUntilLoadedAnew = 3;

LongDocuments long_documents_of(LongDocumentMode mode) {
  switch (mode) {
    case LongDocumentMode::truncate: return LongDocuments::truncate;
    case LongDocumentMode::maxp: return LongDocuments::maxp;
    case LongDocumentMode::firstp: return LongDocuments::firstp;
    case LongDocumentMode::sump: return LongDocuments::sump;
  }
  return LongDocuments::truncate;
}

Error while_standing_in(const Error& error, const std::string& why) {
  return {error.kind(), error.place(), error.problem() + " (on the CPU, which stood in because " + why + ")",
          error.remedy()};
}

}  // namespace

DeviceFallback::DeviceFallback(const RescorerConfig& config) : config_(config) {
  try {
    configured_ = load(config_.device);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    if (!may_fall_back() && config_.on_error == OnError::fail) throw;
    absent_ = error;
    try_again_ = Clock::now() + kTryAgainAfter;
    if (may_fall_back()) stand_in();
  }
}

std::shared_ptr<const CrossEncoder> DeviceFallback::load(const std::string& device) const {
  CrossEncoderOptions options;
  options.backend.device = device;
  options.backend.precision = parse_precision(config_.precision);
  // Standing in, the CPU computes as it does best what it cannot compute as the GPU does.
  const Precision asked = options.backend.precision;
  const bool only_on_gpus = asked == Precision::fp16 || asked == Precision::tf32;
  if (device != config_.device && only_on_gpus) options.backend.precision = Precision::automatic;
  options.backend.threads = config_.threads;
  options.max_length = config_.max_length;
  options.attention_window = config_.attention_window;
  options.long_documents = long_documents_of(config_.long_documents);
  options.chunk = config_.chunk;
  options.stride = config_.stride;
  return CrossEncoder::load(config_.model.empty() ? default_model() : std::filesystem::path(config_.model), options);
}

// Null where it cannot be had; absent_ says why.
std::shared_ptr<const CrossEncoder> DeviceFallback::configured() const {
  const std::lock_guard lock(mutex_);
  if (configured_ || Clock::now() < try_again_) return configured_;
  try {
    configured_ = load(config_.device);
    absent_.reset();
    failures_ = 0;
  } catch (const Error& error) {
    absent_ = error;
    try_again_ = Clock::now() + kTryAgainAfter;
  }
  return configured_;
}

std::shared_ptr<const CrossEncoder> DeviceFallback::stand_in() const {
  const std::lock_guard lock(mutex_);
  if (!stand_in_) stand_in_ = load("cpu");
  return stand_in_;
}

void DeviceFallback::note_failure(const std::shared_ptr<const CrossEncoder>& encoder) const {
  const std::lock_guard lock(mutex_);
  if (configured_ != encoder || ++failures_ < kFailuresUntilLoadedAnew) return;
  configured_.reset();
  try_again_ = Clock::now();
}

DeviceFallback::Answer DeviceFallback::score(std::string_view query, std::span<const PairDocument> documents,
                                             const StopSignal& stop) const {
  std::optional<Error> failure;
  if (const auto encoder = configured()) {
    try {
      Answer answer{encoder->score_documents(query, documents, stop), {}};
      const std::lock_guard lock(mutex_);
      failures_ = 0;
      return answer;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      failure = error;
    }
    note_failure(encoder);
  } else {
    const std::lock_guard lock(mutex_);
    failure = absent_;
  }
  // Another thread may just have loaded it: then the next search finds it.
  if (!failure) failure = Error(ErrorKind::device, "device " + config_.device, "was being loaded anew");
  if (!may_fall_back()) throw *failure;
  try {
    return {stand_in()->score_documents(query, documents, stop),
            std::string("scored on the CPU, because ") + failure->what()};
  } catch (const Error& error) {
    throw while_standing_in(error, failure->what());
  }
}

std::shared_ptr<const CrossEncoder> DeviceFallback::encoder() const {
  const std::lock_guard lock(mutex_);
  return configured_ ? configured_ : stand_in_;
}

std::string DeviceFallback::problem() const {
  const std::lock_guard lock(mutex_);
  return configured_ || !absent_ ? "" : absent_->what();
}

}  // namespace relucent
