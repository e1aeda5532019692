#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/backends.h"
#include "kernels/checks.h"
#include "kernels/cpu/automatic.h"
#include "kernels/cpu/encoders/encoder.h"
#include "kernels/pair_form.h"
#include "relucent/error.h"

namespace relucent::cpu {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(const EncoderDescription& description, std::unique_ptr<const Encoder> encoder,
             std::shared_ptr<ThreadPool> pool, BackendInfo info)
      : description_(description),
        encoder_(std::move(encoder)),
        pool_(std::move(pool)),
        info_(std::move(info)),
        workspaces_(static_cast<std::size_t>(pool_->size())) {}

  const BackendInfo& info() const noexcept override { return info_; }

  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    check_batch(description_, batch, logits.size());
    const BorrowedWorkspace borrowed(*this);
    Team everybody = team(*borrowed);
    encoder_->score(batch, logits, everybody, stop);
  }

  void encode(std::span<const Segment> texts, std::span<float> states, const StopSignal& stop) const override {
    check_texts(description_, texts, states.size());
    const BorrowedWorkspace borrowed(*this);
    Team everybody = team(*borrowed);
    encoder_->encode(texts, states, everybody, stop);
  }

  HiddenStates hidden_states(const ScoringBatch& batch) const override {
    check_batch(description_, batch, 1);
    HiddenStates states;
    pool_->run(1, [&](std::size_t, int worker) { states = encoder_->hidden_states(batch, workspace(worker)); });
    return states;
  }

 private:
  // A call's memory for the groups that all workers compute together.
  class BorrowedWorkspace {
   public:
    explicit BorrowedWorkspace(const CpuBackend& from) : from_(from) {
      const std::lock_guard lock(from.free_mutex_);
      if (from.free_.empty()) {
        workspace_ = std::make_unique<Workspace>();
      } else {
        workspace_ = std::move(from.free_.back());
        from.free_.pop_back();
      }
    }
    ~BorrowedWorkspace() {
      const std::lock_guard lock(from_.free_mutex_);
      from_.free_.push_back(std::move(workspace_));
    }
    BorrowedWorkspace(const BorrowedWorkspace&) = delete;
    BorrowedWorkspace& operator=(const BorrowedWorkspace&) = delete;
    Workspace& operator*() const { return *workspace_; }

   private:
    const CpuBackend& from_;
    std::unique_ptr<Workspace> workspace_;
  };

  Team team(Workspace& group) const {
    return {group, workspaces_.size(), [this](std::size_t count, const Team::Work& work) {
              pool_->run(count, [&](std::size_t index, int worker) { work(index, workspace(worker)); });
            }};
  }

  // A worker does one task at a time, so each has one workspace.
  Workspace& workspace(int worker) const { return workspaces_[static_cast<std::size_t>(worker)]; }

  EncoderDescription description_;
  std::unique_ptr<const Encoder> encoder_;
  std::shared_ptr<ThreadPool> pool_;
  BackendInfo info_;
  mutable std::vector<Workspace> workspaces_;  // [workers]
  mutable std::mutex free_mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> free_;  // one per concurrent caller so far
};

constexpr const char* kInstructionSets[] = {"plain",    "amx_emulated", "avx_vnni_emulated", "avx2", "avx_vnni",
                                            "avx512",   "avx512_vnni",  "avx512_bf16",       "amx",  "neon",
                                            "neon_dot", "neon_i8mm",    "neon_bf16"};

const VectorKernels& choose_kernels(const std::string& wanted, Precision precision) {
  const VectorLevels available = available_vector_kernels();
  if (wanted.empty()) return best_of(available, precision == Precision::fp32 || precision == Precision::int16);
  if (const VectorKernels* const found = vector_kernels_named(wanted)) return *found;
  const std::string known = join(std::span(available.levels, available.count), ", ", &VectorKernels::name);
  for (std::size_t i = 0; i < available.refused_count; ++i) {
    if (wanted != available.refused[i]->name) continue;
    throw Error(ErrorKind::device, "instruction set " + wanted,
                "computes wrong products on this machine: a small product with a known result came out different",
                "use one of " + known);
  }
  const auto& names = kInstructionSets;
  if (std::find(std::begin(names), std::end(names), wanted) == std::end(names)) {
    throw Error(ErrorKind::usage, "instruction set " + wanted, "is unknown",
                "use one that this processor has: " + known);
  }
  throw Error(ErrorKind::device, "instruction set " + wanted, "is not available on this processor",
              "use one that it has: " + known);
}

// Whether every sublayer's sum is normalized, as in BERT.
bool normalizes_sums(const EncoderDescription& description) {
  const auto after = [](const Layer& layer) { return layer.feed_forward.norm == NormPlacement::after; };
  return std::all_of(description.stacks.begin(), description.stacks.end(),
                     [&](const Stack& stack) { return std::all_of(stack.layers.begin(), stack.layers.end(), after); });
}

// The requested precision, computed natively if the processor can.
Arithmetic choose_arithmetic(Precision wanted, const VectorKernels& kernels, bool normalized) {
  switch (wanted) {
    case Precision::fp32: return Arithmetic::fp32;
    case Precision::int16: return Arithmetic::int16;
    case Precision::int8: return Arithmetic::int8;
    case Precision::bf16: return kernels.native_bf16 ? Arithmetic::bf16 : Arithmetic::bf16_emulated;
    case Precision::fp16:
    case Precision::tf32:
      throw Error(ErrorKind::unsupported, fmt::format("precision {}", to_string(wanted)),
                  "is not supported by the CPU backend",
                  "use precision = \"auto\", \"fp32\", \"bf16\", \"int16\" or \"int8\", or a GPU");
    case Precision::automatic: break;
  }
  return automatic_arithmetic(kernels, normalized);
}

Precision precision_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::fp32: break;
    case Arithmetic::bf16:
    case Arithmetic::bf16_emulated: return Precision::bf16;
    case Arithmetic::int16: return Precision::int16;
    case Arithmetic::int8: return Precision::int8;
  }
  return Precision::fp32;
}

}  // namespace

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options, const std::string& why_no_gpu, bool gpu_failed) {
  require_features(description, FastPath::cpu);
  const VectorKernels& kernels = choose_kernels(options.instruction_set, options.precision);
  const Arithmetic arithmetic = choose_arithmetic(options.precision, kernels, normalizes_sums(description));
  const auto pool = shared_pool(options.threads > 0 ? options.threads : available_cores());
  BackendInfo info;
  info.device = "cpu";
  info.precision = precision_of(arithmetic);
  info.instruction_set = kernels.name;
  info.threads = pool->size();
  info.why_no_gpu = why_no_gpu;
  info.gpu_failed = gpu_failed;
  return std::make_unique<CpuBackend>(description, make_encoder({description, weights, arithmetic, kernels}), pool,
                                      std::move(info));
}

}  // namespace relucent::cpu
