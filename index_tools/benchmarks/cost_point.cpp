#include "index_tools/benchmarks/cost_point.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "index_tools/benchmarks/generated_texts.h"
#include "index_tools/benchmarks/measurement.h"
#include "index_tools/benchmarks/model_benchmark.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"
#include "relucent/kernels/encoder.h"
#include "relucent/kernels/peak.h"

namespace relucent::benchmarks {
namespace {

// Restarts the count of the process's peak of memory; false where the system does not offer that.
bool reset_peak_memory() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

/// The size of the layers' weights, as the backend multiplies them.
double weight_bytes(const EncoderDescription& description, Precision precision) {
  double weights = 0;
  for (const auto& stack : description.stacks) {
    for (const Layer& layer : stack.layers) {
      for (const Attention& attention : layer.attentions)
        weights += 4.0 * description.hidden_size * attention.heads * attention.head_size;
      weights += (layer.feed_forward.gated ? 3.0 : 2.0) * layer.feed_forward.size * description.hidden_size;
    }
  }
  switch (precision) {
    case Precision::fp16:
    case Precision::bf16: return 2 * weights;
    case Precision::int8: return weights;
    default: return 4 * weights;
  }
}

std::string time_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace

std::string CostPoint::to_line() const {
  // {fmt} writes the fewest digits that read back to the same double.
  return fmt::format("{} {} {} {} {} {} {}", measured, milliseconds, megabytes, operations, bytes, peak, bandwidth);
}

CostPoint CostPoint::from_line(std::string_view line) {
  const std::vector<std::string_view> fields = index_tools::split_fields(line);
  CostPoint point;
  double* const numbers[] = {&point.milliseconds, &point.megabytes, &point.operations,
                             &point.bytes,        &point.peak,      &point.bandwidth};
  bool good = fields.size() == 1 + std::size(numbers);
  for (std::size_t i = 0; good && i < std::size(numbers); ++i) {
    good = index_tools::parse_number(fields[i + 1], *numbers[i]);
  }
  if (!good) throw Error(ErrorKind::invalid_data, "measurement", "is incomplete: " + index_tools::excerpt(line));
  point.measured = fields[0];
  return point;
}

CostPoint measure_cost(const std::filesystem::path& model, CrossEncoderOptions options,
                       const index_tools::ExperimentCosts& costs, std::int32_t length, const StopSignal& stop) {
  options.max_length = length;
  options.max_query_length = costs.query_tokens;
  const auto encoder = CrossEncoder::load(model, options);
  const int sentence = options.pattern == PatternChoice::qds ? kSentenceTokens : 0;
  const GeneratedTexts texts = generate_texts(model, costs.candidates, length, costs.query_tokens, sentence);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  CostPoint point;
  point.measured = time_now();
  const double count = costs.candidates;
  ::malloc_trim(0);
  const bool counted = reset_peak_memory();
  const double before = memory_use().resident_mb;
  PairScores scores = encoder->score(texts.query, views, stop);
  const double growth = memory_use().peak_mb - before;
  if (counted && growth > 0) point.megabytes = growth / count;
  std::vector<std::chrono::nanoseconds> samples;
  for (int run = 0; run < costs.runs; ++run) {
    const std::chrono::nanoseconds whole = time_of([&] { scores = encoder->score(texts.query, views, stop); });
    samples.push_back(scores.times.device.count() > 0 ? scores.times.device : whole);
  }
  if (scores.device_bytes > 0) point.megabytes = static_cast<double>(scores.device_bytes) / 1e6 / count;
  point.milliseconds = 1e3 * in_seconds(summarize("", std::move(samples)).median) / count;
  const EncoderDescription& description = encoder->description();
  const std::string& document = texts.documents.front();
  const auto sentences = static_cast<int>(std::count(document.begin(), document.end(), '!'));
  point.operations = operations(description, costs.candidates, costs.query_tokens + 1,
                                length - costs.query_tokens - 2 - sentences, sentences) /
                     count;
  point.peak = measured_peak(encoder->backend());
  if (scores.times.device.count() == 0) {
    point.bytes = weight_bytes(description, encoder->backend().precision) / count;
    point.bandwidth = measured_read_bandwidth(encoder->backend().threads);
  }
  return point;
}

}  // namespace relucent::benchmarks
