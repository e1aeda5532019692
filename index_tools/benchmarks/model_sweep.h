#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/benchmarks/model_benchmark.h"

namespace relucent::benchmarks {

/// One setting of the sweep and its times.
struct SweptSetting {
  struct Time {
    int window;  ///< candidates per query
    std::chrono::nanoseconds median;
  };
  Precision precision = Precision::fp32;
  int threads = 1;          ///< 0 on a GPU
  std::vector<Time> times;  ///< by growing window; the last one may exceed the latency
};

/// What to put into a profile.
struct SweepSuggestion {
  Precision precision = Precision::fp32;
  int threads = 1;
  int window = 0;
  std::chrono::nanoseconds median{0};  ///< measured with these settings
};

struct Sweep {
  std::string device;
  int tokens = 0;
  std::chrono::nanoseconds latency{0};
  std::vector<int> windows;  ///< the columns of the table
  std::vector<SweptSetting> settings;
  std::optional<SweepSuggestion> suggestion;  ///< absent if not even one candidate can be scored in time
};

/// Times one query with each precision of the device and, on a CPU, with 1, 2, 4 ... threads up to all cores, for
/// windows of up to settings.candidates candidates, until the median exceeds `latency`. Suggests the setting with the
/// largest window whose median stays within `latency`; of equal ones the precision with more bits, then fewer threads.
/// Takes from some seconds to a few minutes, longer with more cores. Writes progress to `log`. Not supported: several
/// clients. Throws what CrossEncoder::load does.
Sweep sweep(const ModelBenchmark& settings, std::chrono::nanoseconds latency, std::ostream& log);

/// Prints the table and the suggestion as TOML, or with `json` one object.
void report(std::ostream& out, const Sweep& sweep, bool json);

/// The largest window, at most `most`, that fits into `latency` according to the times, interpolated between the two
/// windows around it; 0 if none does.
int fitting_window(const std::vector<SweptSetting::Time>& times, std::chrono::nanoseconds latency, int most);

}  // namespace relucent::benchmarks
