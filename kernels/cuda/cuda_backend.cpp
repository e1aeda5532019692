#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/checks.h"
#include "kernels/cuda/attention_time.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/gpu.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda_interface.h"
#include "kernels/pair_form.h"
#include "relucent/error.h"

namespace relucent::cuda {
namespace {

constexpr int kMaxHeads = 64;  // the most whose last-layer scores fit into shared memory

[[noreturn]] void refuse(const std::string& what, int value, const std::string& limit) {
  throw Error(ErrorKind::unsupported, "CUDA backend",
              fmt::format("{} is {}, but only {} are supported", what, value, limit), "use device = \"cpu\"");
}

/// The limits of a decoder, beyond those of the features it is made of.
void check_decoder(const EncoderDescription& d) {
  const auto require = [](bool it, const std::string& otherwise) {
    if (it) return;
    throw Error(ErrorKind::unsupported, "CUDA backend", fmt::format("does not support a decoder {}", otherwise),
                "use device = \"cpu\"");
  };
  require(d.embedding_size == d.hidden_size, "with an embedding size other than the hidden size");
  for (const Layer& layer : d.stacks.front().layers) {
    require(layer.attentions.front().norm == NormPlacement::before && layer.feed_forward.norm == NormPlacement::before,
            "whose encoder has no norm before each sub-block");
  }
  const auto seen = [](const Layer& layer) {
    std::vector<View::Kind> kinds;
    for (const View& view : layer.attentions.back().views[kCls]) kinds.push_back(view.kind);
    return kinds;
  };
  for (const Layer& layer : d.stacks.back().layers) {
    require(layer.feed_forward.size == d.stacks.front().layers.front().feed_forward.size,
            "whose feed-forward has another size than the encoder's");
    require(seen(layer) == seen(d.stacks.back().layers.front()), "whose layers see different groups");
  }
}

/// Throws Error `unsupported` for features that are computed, but not together.
void check_together(const EncoderDescription& d, EncoderKind kind) {
  const auto refuse_with = [](bool both, const std::string& feature, const std::string& other) {
    if (!both) return;
    throw Error(ErrorKind::unsupported, "CUDA backend", fmt::format("does not support {} with {}", feature, other),
                "use device = \"cpu\"");
  };
  refuse_with(d.head.scale != 1 && !d.head.steps.empty(), "a scale in the head", "steps after it");
  const std::vector<std::int32_t>& groups = d.stacks.front().groups;
  const bool global = std::find(groups.begin(), groups.end(), kGlobal) != groups.end();
  const bool apart = kind == EncoderKind::interaction || kind == EncoderKind::exchange;
  for (const Layer& layer : d.stacks.front().layers) {
    const Attention& attention = layer.attentions.front();
    const bool wide = attention.heads * attention.head_size != d.hidden_size;
    const char* const width = "heads whose sizes do not add up to the hidden size";
    refuse_with(wide && apart, width, "pivots or interactions");
    refuse_with(wide && attention.positions.kind == PositionScheme::Kind::disentangled, width,
                "disentangled attention");
    refuse_with(
        global && kind == EncoderKind::pair && attention.positions.kind == PositionScheme::Kind::relative_buckets,
        "relative positions", "tokens of the document that see all of it");
  }
  if (kind == EncoderKind::decoder) check_decoder(d);
}

void check_supported(const EncoderDescription& d) {
  require_features(d, FastPath::cuda);
  check_together(d, kind_of(d));
  if (d.hidden_size % 8 != 0 || d.hidden_size > kMaxHidden) {
    refuse("hidden_size", d.hidden_size, fmt::format("multiples of 8 up to {}", kMaxHidden));
  }
  if (d.embedding_size % 8 != 0 || d.embedding_size > kMaxHidden) {
    refuse("the embedding size", d.embedding_size, fmt::format("multiples of 8 up to {}", kMaxHidden));
  }
  const Attention& attention = d.stacks.front().layers.front().attentions.front();
  if (attention.head_size % 8 != 0 || attention.head_size > kMaxHeadSize) {
    refuse("the head size", attention.head_size, fmt::format("multiples of 8 up to {}", kMaxHeadSize));
  }
  if (attention.heads > kMaxHeads) {
    refuse("the number of heads", attention.heads, fmt::format("values up to {}", kMaxHeads));
  }
  for (const HeadStep& step : d.head.steps) {
    if (step.size % 8 == 0 && step.size <= kMaxHidden) continue;
    refuse("the size of a step of the head", step.size, fmt::format("multiples of 8 up to {}", kMaxHidden));
  }
  if (d.head.pivots && d.head.pivots->heads > kMaxHeads) {
    refuse("the number of pooling heads", d.head.pivots->heads, fmt::format("values up to {}", kMaxHeads));
  }
}

/// The precision actually used for `asked`. With few features the rounding errors of bf16 do not average out: the
/// logits would be off by more than the 5e-2 allowed for 16 bits. Such small encoders cost next to nothing in tf32.
Precision effective(Precision asked, int hidden_size) {
  constexpr int least_for_bf16 = 128;
  switch (asked) {
    case Precision::automatic: return Precision::fp16;
    case Precision::bf16: return hidden_size < least_for_bf16 ? Precision::tf32 : Precision::bf16;
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp16: return asked;
    case Precision::int16:
    case Precision::int8: break;
  }
  throw Error(ErrorKind::unsupported, fmt::format("precision {}", to_string(asked)),
              "is not supported by the CUDA backend", "use auto (fp16), fp16, bf16, tf32 or fp32");
}

/// The GPUs selected by `wanted`, of kind `cuda`.
std::vector<DeviceInfo> chosen(const Device& wanted) {
  const std::vector<DeviceInfo> all = devices(false);
  std::vector<DeviceInfo> found;
  std::string problems;
  for (const DeviceInfo& info : all) {
    if (wanted.gpu && info.index != *wanted.gpu) continue;
    if (!info.problem.empty()) {
      problems += fmt::format("{}{} {}", problems.empty() ? "" : "; ", device_name(info.index), info.problem);
    } else if (found.empty() || (info.name == found.front().name)) {
      found.push_back(info);  // the same model, so the results have the same bits
    }
  }
  if (!found.empty()) return found;
  if (problems.empty()) {
    problems = all.empty()
                   ? "no GPU was found"
                   : fmt::format("no such GPU; this machine has {} other{}", all.size(), all.size() == 1 ? "" : "s");
  }
  throw Error(ErrorKind::device, to_string(wanted), problems,
              "list the devices with `relucent model info --device`, or use device = \"cpu\"");
}

/// So many tokens of candidates are worth another GPU: by count an H100 takes a quarter of a millisecond for them, most
/// of it for launches, and starting a thread takes a fifth of that.
constexpr std::size_t kTokensPerGpu = 4096;

/// Runs of a batch's candidates with about equally many tokens: [first, last) of each.
std::vector<std::pair<std::size_t, std::size_t>> shared_out(const ScoringBatch& batch, std::size_t most) {
  std::vector<std::size_t> ends;  // of each candidate, in tokens
  std::size_t tokens = 0;
  for (const std::span<const relucent::Segment> candidate : batch.candidates) {
    for (const relucent::Segment& segment : candidate) tokens += segment.tokens();
    ends.push_back(tokens);
  }
  const std::size_t parts = std::clamp<std::size_t>(tokens / kTokensPerGpu, 1, most);
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t part = 1, first = 0; part <= parts; ++part) {
    const auto end = std::ranges::lower_bound(ends, tokens * part / parts);
    const std::size_t last = part == parts ? ends.size() : static_cast<std::size_t>(end - ends.begin()) + 1;
    if (last > first) runs.emplace_back(first, last);
    first = std::max(first, last);
  }
  return runs;
}

/// One or several GPUs. A call goes to the least busy one, and to the next one if it fails. Idle GPUs share a large
/// search out by its candidates, unless these are scored together.
class CudaBackend final : public Backend {
 public:
  CudaBackend(const EncoderDescription& description, const EncoderWeights& weights,
              const std::vector<DeviceInfo>& devices, Precision precision)
      : description_(description), weights_(description, weights, element_of(precision)) {
    info_.precision = precision;
    info_.instruction_set = fmt::format("sm_{}{}", devices.front().major, devices.front().minor);
    info_.device_name = devices.front().name;
    std::exception_ptr failure;
    for (const DeviceInfo& device : devices) {
      try {
        gpus_.push_back(std::make_unique<Gpu>(device.index, description_, weights_, precision == Precision::tf32));
      } catch (const Error& error) {  // e.g. out of memory: use the others
        if (error.kind() != ErrorKind::device) throw;
        if (!failure) failure = std::current_exception();
        continue;
      }
      info_.device += fmt::format("{}{}", info_.device.empty() ? "cuda:" : ",", device.index);
    }
    if (gpus_.empty()) std::rethrow_exception(failure);
    gpus_.front()->describe(info_);
  }

  const BackendInfo& info() const noexcept override { return info_; }

  void score(const ScoringBatch& batch, std::span<float> logits, const StopSignal& stop) const override {
    score_with_cost(batch, logits, stop);
  }

  void encode(std::span<const relucent::Segment> texts, std::span<float> states,
              const StopSignal& stop) const override {
    check_texts(description_, texts, states.size());
    if (texts.empty()) return;
    on_a_gpu([&](Gpu& gpu) { return gpu.encode(texts, states, stop); });
    check_range(states, "a state");
  }

  DeviceCost score_with_cost(const ScoringBatch& batch, std::span<float> logits,
                             const StopSignal& stop) const override {
    check_batch(description_, batch, logits.size());
    if (logits.empty()) return {};
    const std::vector<Gpu*> idle = idle_gpus();
    const bool alone = idle.size() < 2 || !batch.documents.empty() || kind_of(description_) == EncoderKind::set;
    const auto runs = shared_out(batch, alone ? 1 : idle.size());
    const auto score_run = [&](std::size_t number) {
      const auto [first, last] = runs[number];
      const std::size_t each = logits.size() / batch.candidates.size();
      const ScoringBatch part{batch.shared, batch.candidates.subspan(first, last - first)};
      const auto of_part = logits.subspan(first * each, (last - first) * each);
      return on_a_gpu([&](Gpu& gpu) { return gpu.score(part, of_part, stop); }, idle[number]);
    };
    DeviceCost cost;
    if (runs.size() < 2) {
      cost = on_a_gpu([&](Gpu& gpu) { return gpu.score(batch, logits, stop); });
    } else {
      std::vector<std::future<DeviceCost>> others;
      for (std::size_t i = 1; i < runs.size(); ++i) {
        others.push_back(std::async(std::launch::async, [&, i] { return score_run(i); }));
      }
      cost = score_run(0);
      for (std::future<DeviceCost>& other : others) {
        const DeviceCost of_other = other.get();
        cost.time = std::max(cost.time, of_other.time);
        cost.bytes += of_other.bytes;
      }
    }
    check_range(logits, "a logit");
    return cost;
  }

  HiddenStates hidden_states(const ScoringBatch& batch) const override {
    check_batch(description_, batch, 1);
    return gpus_.front()->hidden_states(batch);
  }

 private:
  std::vector<Gpu*> idle_gpus() const {
    std::vector<Gpu*> idle;
    for (const auto& gpu : gpus_) {
      if (!gpu->failed_lately() && gpu->in_flight() == 0) idle.push_back(gpu.get());
    }
    return idle;
  }

  /// Calls work(gpu) for `wanted` or else the least busy GPU, and for the next one if it fails.
  template <typename Work>
  DeviceCost on_a_gpu(const Work& work, const Gpu* wanted = nullptr) const {
    using Load = std::tuple<bool, bool, int>;  // not wanted, failed lately, calls in flight: a snapshot
    std::vector<std::pair<Load, Gpu*>> order;
    for (const auto& gpu : gpus_) {
      order.emplace_back(Load(gpu.get() != wanted, gpu->failed_lately(), gpu->in_flight()), gpu.get());
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0;; ++i) {
      try {
        return work(*order[i].second);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::device || i + 1 == order.size()) throw;
      }
    }
  }

  /// fp16 ends at 65,504. Another GPU, a retry or a fresh upload would give the same result, so this is not a device
  /// failure.
  void check_range(std::span<const float> numbers, const char* what) const {
    if (info_.precision != Precision::fp16) return;
    if (std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); })) return;
    throw Error(ErrorKind::unsupported, info_.device,
                fmt::format("{} is not finite: an activation of this checkpoint exceeded the range of fp16", what),
                "use precision = \"bf16\"");
  }

  EncoderDescription description_;
  PackedWeights weights_;
  BackendInfo info_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

std::unique_ptr<Backend> make_backend(const EncoderDescription& description, const EncoderWeights& weights,
                                      const BackendOptions& options) {
  const Precision precision = effective(options.precision, description.hidden_size);
  check_supported(description);
  return std::make_unique<CudaBackend>(description, weights, chosen(options.device), precision);
}

}  // namespace
}  // namespace relucent::cuda

extern "C" __attribute__((visibility("default"))) const relucent::cuda::Module* relucent_cuda_module() noexcept {
  static constexpr relucent::cuda::Module module{relucent::cuda::kModuleAbi,   RELUCENT_VERSION,
                                                 relucent::cuda::devices,      relucent::cuda::make_backend,
                                                 relucent::cuda::measure_peak, relucent::cuda::time_attention};
  return &module;
}
