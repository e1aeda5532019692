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
#include "model/graphs/build_graph.h"
#include "model/mir/passage_model.h"
#include "plugin/second_stage/encoder_options.h"
#include "relucent/error.h"
#include "relucent/kernels/encoder.h"
#include "relucent/kernels/peak.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/model/mix_encoder.h"

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
    case Precision::bf16:
    case Precision::int16: return 2 * weights;
    case Precision::int8: return weights;
    default: return 4 * weights;
  }
}

std::string time_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// As its checkpoint states, not as its options do.
bool reads_passages(const std::filesystem::path& model) {
  const std::string type = checkpoint_model_type(model);
  return type == "mir" || type == "parade";
}

/// The patterns and models that look for sentences find some in the texts.
int sentence_tokens(const std::filesystem::path& model, const ScorerConfig& config) {
  return config.pattern == PatternChoice::qds || checkpoint_model_type(model) == "mir" ? kSentenceTokens : 0;
}

/// What one call of a model took.
struct Call {
  std::chrono::nanoseconds on_device{0};
  std::uint64_t device_bytes = 0;
};

/// The time and the memory of a model's calls, per candidate.
template <typename Score>
CostPoint measure_calls(const index_tools::ExperimentCosts& costs, const BackendInfo& backend, const Score& score) {
  CostPoint point;
  point.measured = time_now();
  const double count = costs.candidates;
  ::malloc_trim(0);
  const bool counted = reset_peak_memory();
  const double before = memory_use().resident_mb;
  Call call = score();
  const double growth = memory_use().peak_mb - before;
  if (counted && growth > 0) point.megabytes = growth / count;
  std::vector<std::chrono::nanoseconds> samples;
  for (int run = 0; run < costs.runs; ++run) {
    const std::chrono::nanoseconds whole = time_of([&] { call = score(); });
    samples.push_back(call.on_device.count() > 0 ? call.on_device : whole);
  }
  if (call.device_bytes > 0) point.megabytes = static_cast<double>(call.device_bytes) / 1e6 / count;
  point.milliseconds = 1e3 * in_seconds(summarize("", std::move(samples)).median) / count;
  point.peak = measured_peak(backend).best;
  if (call.on_device.count() == 0) point.bandwidth = measured_read_bandwidth(backend.threads);
  return point;
}

CostPoint cost_of_pairs(const std::filesystem::path& model, const ScorerConfig& config,
                        const index_tools::ExperimentCosts& costs, std::int32_t length, const GeneratedTexts& texts,
                        const StopSignal& stop) {
  CrossEncoderOptions options{config, backend_options(config)};
  const bool in_parts = reads_parts(model, config);
  if (!in_parts) options.max_length = length;
  if (!reads_passages(model)) options.max_query_length = costs.query_tokens;
  const auto encoder = CrossEncoder::load(model, options);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  CostPoint point = measure_calls(costs, encoder->backend(), [&] {
    const PairScores scores = encoder->score(texts.query, views, stop);
    return Call{scores.times.device, scores.device_bytes};
  });
  if (in_parts) return point;
  const EncoderDescription& description = encoder->description();
  const std::string& document = texts.documents.front();
  const auto sentences = static_cast<int>(std::count(document.begin(), document.end(), '!'));
  point.operations = operations(description, costs.candidates, costs.query_tokens + 1,
                                length - costs.query_tokens - 2 - sentences, sentences) /
                     costs.candidates;
  if (point.bandwidth > 0) point.bytes = weight_bytes(description, encoder->backend().precision) / costs.candidates;
  return point;
}

/// A MIR's graphs are made before, as `relucent graphs` does, with a word's frequency of 1 in as many documents.
CostPoint cost_of_passages(const std::filesystem::path& folder, const ScorerConfig& config,
                           const index_tools::ExperimentCosts& costs, const GeneratedTexts& texts,
                           const StopSignal& stop) {
  refuse_text_keys(config, "a MIR", "reads passages as its checkpoint states");
  const auto model = PassageModel::load(folder, backend_options(config));
  const std::int32_t most = model->graph_settings().max_document_tokens;
  const TermStatistics statistics{static_cast<std::uint64_t>(costs.candidates), [](std::string_view) { return 1; }};
  std::vector<DocumentGraph> graphs;
  std::vector<std::vector<std::int32_t>> ids;
  for (const std::string& text : texts.documents) {
    std::vector<TermPlace> terms;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" !", begin), text.size());
      if (end > begin) terms.push_back({text.substr(begin, end - begin), {begin, end}});
      begin = end + 1;
    }
    BuiltGraph built = build_graph(model->graph_settings(), {text, terms}, statistics, model->tokenizer(), stop);
    if (built.graph.pieces == most) {
      throw Error(ErrorKind::unsupported, folder.string(),
                  fmt::format("reads at most {} word pieces of a document", most), "choose smaller lengths");
    }
    graphs.push_back(std::move(built.graph));
    ids.push_back(std::move(built.ids));
  }
  std::vector<GraphedDocument> documents;
  for (std::size_t i = 0; i < graphs.size(); ++i) documents.push_back({texts.documents[i], &graphs[i], ids[i], false});
  return measure_calls(costs, model->backend(),
                       [&] { return Call{model->score(texts.query, documents, stop).times.device}; });
}

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

CostPoint measure_cost(const std::filesystem::path& model, const ScorerConfig& config,
                       const index_tools::ExperimentCosts& costs, std::int32_t length, const StopSignal& stop) {
  const GeneratedTexts texts =
      generate_texts(model, costs.candidates, length, costs.query_tokens, sentence_tokens(model, config));
  return checkpoint_model_type(model) == "mir" ? cost_of_passages(model, config, costs, texts, stop)
                                               : cost_of_pairs(model, config, costs, length, texts, stop);
}

bool reads_parts(const std::filesystem::path& model, const ScorerConfig& config) {
  return config.long_documents != LongDocuments::truncate || reads_passages(model);
}

}  // namespace relucent::benchmarks
