#include "index_tools/benchmarks/model_sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "index_tools/benchmarks/generated_texts.h"
#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::benchmarks {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kTimePerCell = std::chrono::milliseconds(600);
constexpr int kMaxRuns = 7;

// Precisions with more bits first.
std::vector<Precision> precisions_of(bool on_gpu) {
  if (on_gpu) return {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
  return {Precision::fp32, Precision::int16, Precision::bf16, Precision::int8};
}

std::vector<int> thread_counts() {
  std::vector<int> counts;
  const int cores = available_cores();
  for (int threads = 1; threads < cores; threads *= 2) counts.push_back(threads);
  counts.push_back(cores);
  return counts;
}

// 1, 2, 5, 10, 20, 50 ... `most`.
std::vector<int> windows_up_to(int most) {
  std::vector<int> windows;
  for (int decade = 1; decade < most; decade *= 10) {
    for (const int step : {1, 2, 5}) {
      if (decade * step < most) windows.push_back(decade * step);
    }
  }
  windows.push_back(most);
  return windows;
}

// The median of as many queries as fit into kTimePerCell, after a first one that touches the memory.
nanoseconds median_of(const CrossEncoder& encoder, const std::string& query,
                      std::span<const std::string_view> documents) {
  std::vector<nanoseconds> samples;
  nanoseconds spent = time_of([&] { encoder.score(query, documents); });
  do {
    samples.push_back(time_of([&] { encoder.score(query, documents); }));
    spent += samples.back();
  } while (spent < kTimePerCell && static_cast<int>(samples.size()) < kMaxRuns);
  return percentile(std::move(samples), 0.5);
}

std::string milliseconds(nanoseconds time) { return fmt::format("{:.1f}", in_milliseconds(time)); }

nlohmann::json as_json(const Sweep& sweep) {
  nlohmann::json cells = nlohmann::json::array();
  for (const SweptSetting& setting : sweep.settings) {
    for (const auto& [window, median] : setting.times) {
      cells.push_back({{"precision", to_string(setting.precision)},
                       {"threads", setting.threads},
                       {"window", window},
                       {"median_ms", in_milliseconds(median)}});
    }
  }
  nlohmann::json object = {{"device", sweep.device},
                           {"tokens", sweep.tokens},
                           {"latency_ms", in_milliseconds(sweep.latency)},
                           {"cells", cells},
                           {"suggestion", nullptr}};
  if (sweep.suggestion) {
    object["suggestion"] = {{"device", sweep.device},
                            {"precision", to_string(sweep.suggestion->precision)},
                            {"threads", sweep.suggestion->threads},
                            {"window", sweep.suggestion->window},
                            {"median_ms", in_milliseconds(sweep.suggestion->median)}};
  }
  return object;
}

}  // namespace

int fitting_window(const std::vector<SweptSetting::Time>& times, nanoseconds latency, int most) {
  int fits = 0;
  nanoseconds fitting_time{0};
  for (const auto& [window, median] : times) {
    if (median > latency) {
      if (fits == 0) return 0;
      const double share =
          static_cast<double>((latency - fitting_time).count()) / static_cast<double>((median - fitting_time).count());
      return std::min(most, fits + static_cast<int>(share * (window - fits)));
    }
    fits = window;
    fitting_time = median;
  }
  return std::min(most, fits);
}

Sweep sweep(const ModelBenchmark& settings, nanoseconds latency, std::ostream& log) {
  const auto folder = model_folder(settings.model);
  const auto [query, documents] = generate_texts(folder, settings.candidates, settings.tokens, settings.query_tokens);
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  CrossEncoderOptions options = settings.options;
  options.max_length = settings.tokens;
  // What "auto" chooses shows whether there is a GPU.
  const auto chosen = CrossEncoder::load(folder, options);
  Sweep result{.device = chosen->backend().device,
               .tokens = settings.tokens,
               .latency = latency,
               .windows = windows_up_to(settings.candidates),
               .settings = {},
               .suggestion = {}};
  options.backend.device = parse_device(result.device);
  const bool on_gpu = options.backend.device.kind == Device::Kind::cuda;

  int best = 0;
  for (const Precision precision : precisions_of(on_gpu)) {
    for (const int threads : on_gpu ? std::vector<int>{0} : thread_counts()) {
      options.backend.precision = precision;
      options.backend.threads = threads;
      const auto encoder = CrossEncoder::load(folder, options);
      SweptSetting setting{precision, threads, {}};
      log << (on_gpu
                  ? fmt::format("{} ...\n", to_string(precision))
                  : fmt::format("{}, {} {} ...\n", to_string(precision), threads, threads == 1 ? "thread" : "threads"));
      for (const int window : result.windows) {
        const nanoseconds median = median_of(*encoder, query, std::span(views).first(static_cast<std::size_t>(window)));
        setting.times.push_back({window, median});
        if (median > latency) break;
      }
      // An interpolated window counts only if it is measured to fit; otherwise a smaller one is tried.
      for (int window = fitting_window(setting.times, latency, settings.candidates); window > best;
           window = window * 9 / 10) {
        const nanoseconds median = median_of(*encoder, query, std::span(views).first(static_cast<std::size_t>(window)));
        if (median > latency) continue;
        best = window;
        result.suggestion = SweepSuggestion{precision, threads, window, median};
        break;
      }
      result.settings.push_back(std::move(setting));
    }
  }
  return result;
}

void report(std::ostream& out, const Sweep& sweep, bool json) {
  if (json) {
    out << as_json(sweep).dump(2) << "\n";
    return;
  }
  out << fmt::format("{}, {} tokens per input: median ms by the number of candidates\n", sweep.device, sweep.tokens);
  out << fmt::format("{:<10} {:>7}", "precision", "threads");
  for (const int window : sweep.windows) out << fmt::format(" {:>8}", window);
  out << "\n";
  for (const SweptSetting& setting : sweep.settings) {
    out << fmt::format("{:<10} {:>7}", to_string(setting.precision), setting.threads);
    for (const auto& [window, median] : setting.times) out << fmt::format(" {:>8}", milliseconds(median));
    out << "\n";
  }
  if (!sweep.suggestion) {
    out << fmt::format("\nNo setting scores a candidate within {} ms.\n", milliseconds(sweep.latency));
    return;
  }
  const SweepSuggestion& best = *sweep.suggestion;
  out << fmt::format("\nThe largest window within {} ms: {} candidates in {} ms.\n\n", milliseconds(sweep.latency),
                     best.window, milliseconds(best.median));
  out << fmt::format("[rescorer]\ndevice = \"{}\"\nprecision = \"{}\"\n", sweep.device, to_string(best.precision));
  if (best.threads > 0) out << fmt::format("threads = {}\n", best.threads);
  out << fmt::format("window = {}\n", best.window);
}

}  // namespace relucent::benchmarks
