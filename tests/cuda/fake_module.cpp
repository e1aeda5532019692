// CUDA modules without CUDA, for tests of everything around the real one: they score on the CPU and fail as
// $RELUCENT_FAKE_CUDA, read at every call, demands. FAKE_ABI and FAKE_VERSION make modules that do not fit.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "kernels/cuda_interface.h"
#include "relucent/error.h"

#ifndef FAKE_ABI
#define FAKE_ABI relucent::cuda::kModuleAbi
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION RELUCENT_VERSION
#endif

namespace relucent::cuda {
namespace {

bool told(const char* word) {
  const char* words = std::getenv("RELUCENT_FAKE_CUDA");
  return words != nullptr && (',' + std::string(words) + ',').find(',' + std::string(word) + ',') != std::string::npos;
}

/// A line more in $RELUCENT_FAKE_CUDA_CALLS, a file that a test reads.
void note(const char* call) {
  if (const char* file = std::getenv("RELUCENT_FAKE_CUDA_CALLS")) std::ofstream(file, std::ios::app) << call << '\n';
}

/// Waits until the file $RELUCENT_FAKE_CUDA_GATE is there; not for ever, because a failing test must also end.
void wait_at_gate() {
  const char* file = std::getenv("RELUCENT_FAKE_CUDA_GATE");
  const std::filesystem::path gate = file != nullptr ? file : "";
  for (int i = 0; i < 1000 && !std::filesystem::exists(gate); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Waits until the deadline is over; not for ever, for the same reason.
void wait_until_due(const StopSignal& stop) {
  for (int i = 0; i < 3000 && !stop.due(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

std::vector<DeviceInfo> devices(bool free_memory) {
  if (told("no_driver")) throw Error(ErrorKind::device, "CUDA driver", "there is none", "install NVIDIA's driver");
  if (told("odd_error")) throw std::runtime_error("an odd error");
  if (told("integer")) throw 42;
  if (told("no_gpu")) return {};
  std::vector<DeviceInfo> all = {{0, "Fake GPU", 9, 0, 80'000'000'000, 79'000'000'000, ""}};
  if (told("old_gpu")) all[0].problem = "compute capability 7.5 is below 8.0";
  if (told("two")) all.push_back({1, "Fake GPU", 9, 0, 80'000'000'000, 78'000'000'000, ""});
  if (!free_memory) {
    for (DeviceInfo& info : all) info.free_bytes = 0;
  }
  return all;
}

class FakeBackend final : public Backend {
 public:
  FakeBackend(std::unique_ptr<Backend> cpu, const BackendOptions& options) : cpu_(std::move(cpu)) {
    info_.device = options.device == Device::every_gpu() ? "cuda:0,1" : to_string(options.device);
    info_.precision = options.precision == Precision::automatic ? Precision::fp16 : options.precision;
    info_.instruction_set = "sm_90";
    info_.device_name = "Fake GPU";
  }
  const BackendInfo& info() const noexcept override { return info_; }
  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    note("score");
    if (told("overflow")) {
      throw Error(ErrorKind::unsupported, info_.device, "an activation went beyond the range of fp16",
                  "use precision = \"bf16\"");
    }
    if (told("too_long")) {
      throw Error(ErrorKind::unsupported, "CUDA backend", "cannot compute a document of 4,000,000 tokens in one piece",
                  "use device = \"cpu\", or cut the document");
    }
    if (told("late")) wait_until_due(stop);
    if (told("fail_score")) throw Error(ErrorKind::device, info_.device, "is out of memory", "rescore fewer hits");
    if (told("odd_score")) throw std::runtime_error("an odd error");
    cpu_->score(batch, logits, stop);
    if (told("other_logits") && info_.precision == Precision::fp16) {
      for (float& logit : logits) logit += 1;
    }
  }
  DeviceCost score_with_cost(const ScoringBatch& batch, std::span<float> logits,
                             const StopSignal& stop) const override {
    score(batch, logits, stop);
    return {std::chrono::microseconds(125), 1'000'000 * batch.candidates.size()};
  }
  void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop) const override {
    cpu_->encode(texts, states, stop);
  }
  HiddenStates hidden_states(const ScoringBatch& batch) const override { return cpu_->hidden_states(batch); }

 private:
  std::unique_ptr<Backend> cpu_;
  BackendInfo info_;
};

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options) {
  note("make");
  if (told("wait_make")) wait_at_gate();
  if (told("fail_make")) throw Error(ErrorKind::device, to_string(options.device), "is out of memory", "free some");
  if (told("refuse")) throw Error(ErrorKind::unsupported, "head size 48", "is not supported by the CUDA backend");
  if (told("null")) return nullptr;
  BackendOptions cpu = options;
  cpu.device = Device::cpu();
  cpu.precision = Precision::fp32;
  return std::make_unique<FakeBackend>(create_backend(description, weights, cpu), options);
}

double measure_peak(int, Precision precision) { return precision == Precision::fp16 ? 2e12 : 1e12; }

std::vector<std::chrono::nanoseconds> time_attention(int, Precision, const AttentionShape& shape, int runs) {
  return {static_cast<std::size_t>(runs), std::chrono::nanoseconds(shape.tokens)};
}

}  // namespace
}  // namespace relucent::cuda

extern "C" RELUCENT_API const relucent::cuda::Module* relucent_cuda_module() noexcept {
  static const relucent::cuda::Module module = {FAKE_ABI,
                                                FAKE_VERSION,
                                                relucent::cuda::devices,
                                                relucent::cuda::make_backend,
                                                relucent::cuda::measure_peak,
                                                relucent::cuda::time_attention};
  return &module;
}
