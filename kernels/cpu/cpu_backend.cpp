#include "cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "checks.h"
#include "cpu/encoder.h"
#include "cpu/thread_pool.h"
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
    if (batch.documents.empty()) return;
    std::optional<QueryStates> shared;
    if (encoder_->shares_query()) {
      pool_->run(1, [&](std::size_t, int worker) {
        shared = encoder_->encode_query(batch.query, workspace(worker), stop);
      });
    }
    // Long documents first, so that no worker is left alone with one at the end.
    std::vector<std::size_t> order(batch.documents.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return batch.documents[a].size() > batch.documents[b].size();
    });
    pool_->run(order.size(), [&](std::size_t index, int worker) {
      const std::size_t i = order[index];
      logits[i] = encoder_->score(batch.cls_id, batch.query, batch.documents[i], shared ? &*shared : nullptr,
                                  workspace(worker), stop);
    });
  }

  HiddenStates hidden_states(std::int32_t cls_id, std::span<const std::int32_t> query,
                             std::span<const std::int32_t> document) const override {
    const std::span<const std::int32_t> documents[] = {document};
    check_batch(description_, {cls_id, query, documents}, 1);
    HiddenStates states;
    pool_->run(1, [&](std::size_t, int worker) {
      states = encoder_->hidden_states(cls_id, query, document, workspace(worker));
    });
    return states;
  }

 private:
  // A worker does one piece of work at a time, so its workspace is its own.
  Workspace& workspace(int worker) const { return workspaces_[static_cast<std::size_t>(worker)]; }

  EncoderDescription description_;
  std::unique_ptr<const Encoder> encoder_;
  std::shared_ptr<ThreadPool> pool_;
  BackendInfo info_;
  mutable std::vector<Workspace> workspaces_;  // [workers]
};

/// What an instruction_set option means: the vector kernels, and whether native bf16 products may be used.
struct Level {
  const VectorKernels* kernels;
  bool native_bf16;
};

constexpr const char* kInstructionSets[] = {"plain", "avx2", "avx512", "avx512_bf16", "amx"};

Level choose_level(const std::string& wanted) {
  const VectorLevels vector = available_vector_kernels();
  const char* bf16 = native_bf16_name();
  if (wanted.empty()) return {vector.levels[vector.count - 1], bf16 != nullptr};
  if (bf16 != nullptr && wanted == bf16) return {vector.levels[vector.count - 1], true};
  std::string known;
  for (std::size_t i = 0; i < vector.count; ++i) {
    if (wanted == vector.levels[i]->name) return {vector.levels[i], false};
    known += (known.empty() ? "" : ", ") + std::string(vector.levels[i]->name);
  }
  if (bf16 != nullptr) known += std::string(", ") + bf16;
  const auto& names = kInstructionSets;
  if (std::find(std::begin(names), std::end(names), wanted) == std::end(names)) {
    throw Error(ErrorKind::usage, "instruction set " + wanted, "is not known", "this processor has " + known);
  }
  throw Error(ErrorKind::device, "instruction set " + wanted, "is not one that this processor has", "it has " + known);
}

/// Compares a native bf16 product with plain sums over the same rounded operands.
bool products_are_right(const VectorKernels& kernels, ThreadPool& pool) {
  constexpr std::size_t rows = 21, inputs = 96, outputs = 80;
  std::vector<float> x(rows * inputs), weight(outputs * inputs), y(tile_rows(rows) * outputs);
  std::uint32_t state = 1;
  const auto next = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
  };
  std::generate(x.begin(), x.end(), next);
  std::generate(weight.begin(), weight.end(), next);
  const auto linear = make_linear(Arithmetic::bf16, kernels, weight, std::vector<float>(outputs));
  pool.run(1, [&](std::size_t, int) {
    Operand operand;
    operand.assign(Arithmetic::bf16, kernels, x.data(), rows, inputs);
    linear->multiply(operand, rows, y.data());
  });
  kernels.round_within_f32(x.data(), x.data(), x.size());
  kernels.round_within_f32(weight.data(), weight.data(), weight.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t out = 0; out < outputs; ++out) {
      double sum = 0;
      for (std::size_t in = 0; in < inputs; ++in) {
        sum += static_cast<double>(x[row * inputs + in]) * weight[out * inputs + in];
      }
      if (!(std::abs(y[row * outputs + out] - sum) < 1e-3)) return false;
    }
  }
  return true;
}

Arithmetic choose_arithmetic(Precision wanted, const Level& level, ThreadPool& pool) {
  switch (wanted) {
    case Precision::fp32: return Arithmetic::fp32;
    case Precision::int8:
      throw Error(ErrorKind::unsupported, "precision int8", "is not one of the CPU backend",
                  "use precision = \"auto\", \"fp32\" or \"bf16\"");
    case Precision::bf16:
      if (!level.native_bf16) return Arithmetic::bf16_emulated;
      break;
    case Precision::automatic:
      if (!level.native_bf16) return Arithmetic::fp32;
      break;
  }
  bool right = false;
  try {
    right = products_are_right(*level.kernels, pool);
  } catch (const Error&) {  // refused
  }
  if (right) return Arithmetic::bf16;
  return wanted == Precision::bf16 ? Arithmetic::bf16_emulated : Arithmetic::fp32;
}

}  // namespace

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options) {
  const Level level = choose_level(options.instruction_set);
  const auto pool = shared_pool(options.threads > 0 ? options.threads : available_cores());
  const Arithmetic arithmetic = choose_arithmetic(options.precision, level, *pool);
  BackendInfo info;
  info.device = "cpu";
  info.precision = arithmetic == Arithmetic::fp32 ? Precision::fp32 : Precision::bf16;
  info.instruction_set = arithmetic == Arithmetic::bf16 ? native_bf16_name() : level.kernels->name;
  info.threads = pool->size();
  auto encoder = std::make_unique<const Encoder>(description, weights, arithmetic, *level.kernels);
  return std::make_unique<CpuBackend>(description, std::move(encoder), pool, std::move(info));
}

}  // namespace relucent::cpu
