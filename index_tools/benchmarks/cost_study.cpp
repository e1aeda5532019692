#include "index_tools/benchmarks/cost_study.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/benchmarks/child_process.h"
#include "index_tools/benchmarks/cost_cache.h"
#include "index_tools/benchmarks/generated_texts.h"
#include "index_tools/benchmarks/measurement.h"
#include "index_tools/benchmarks/model_benchmark.h"
#include "index_tools/benchmarks/work_folder.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/experiments/content_hash.h"
#include "index_tools/experiments/experiment_parts.h"
#include "index_tools/indexing/progress.h"
#include "relucent/error.h"
#include "relucent/kernels/encoder.h"
#include "relucent/kernels/peak.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/stop.h"
#include "relucent/threads.h"

namespace relucent::benchmarks {
namespace {

using index_tools::Experiment;
using index_tools::ExperimentRow;
using index_tools::StudyReport;
using index_tools::StudyTable;

constexpr std::size_t kTime = 0, kMemory = 1;  // tables of the report

// Restarts the count of the process's peak of memory; false where the system does not offer that.
bool reset_peak_memory() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

CrossEncoderOptions options_of(const ScorerConfig& config, std::int32_t threads) {
  CrossEncoderOptions options;
  options.backend.device = config.device;
  options.backend.precision = config.precision;
  options.backend.threads = threads > 0 ? threads : config.threads;
  options.attention_window = config.attention_window;
  options.pattern = config.pattern;
  return options;
}

/// The device and the precision.
std::string device_of(const ScorerConfig& config) {
  return to_string(config.device) + " " + to_string(config.precision);
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

CostPoint measure(const std::filesystem::path& model, CrossEncoderOptions options,
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

/// A model's folder with a position table for `length` tokens: its own, or an extended copy.
class LongModels {
 public:
  std::filesystem::path folder(const std::filesystem::path& model, std::int32_t length) {
    const auto known = limits_.find(model);
    std::int32_t limit = 0;
    if (known != limits_.end()) {
      limit = known->second;
    } else {
      CrossEncoderOptions options;
      options.backend.device = Device::cpu();
      limit = limits_[model] = CrossEncoder::load(model, options)->max_length();
    }
    if (length <= limit) return model;
    const auto [copy, is_new] = copies_.try_emplace({model, length});
    if (is_new) {
      copy->second = work_ / fmt::format("model-{}", copies_.size());
      extend_positions(model, copy->second, length);
    }
    return copy->second;
  }

 private:
  WorkFolder work_;
  std::map<std::filesystem::path, std::int32_t> limits_;
  std::map<std::pair<std::filesystem::path, std::int32_t>, std::filesystem::path> copies_;
};

StudyReport empty_report(const Experiment& experiment) {
  StudyReport report;
  report.title = experiment.title;
  report.source = experiment.source;
  report.columns = experiment.columns();
  report.references.resize(report.columns.size());
  for (const ExperimentRow& row : experiment.rows) report.rows.push_back(row.name);
  for (const char* measure : {"ms", "MB"}) {
    StudyTable table{measure, 3, true, {}};
    table.cells.assign(report.rows.size(), std::vector<index_tools::StudyCell>(report.columns.size()));
    const auto published = experiment.published.find(measure);
    for (std::size_t c = 0; published != experiment.published.end() && c < report.columns.size(); ++c) {
      const auto column = published->second.find(report.columns[c]);
      if (column == published->second.end()) continue;
      for (std::size_t r = 0; r < report.rows.size(); ++r) {
        if (const auto value = column->second.find(report.rows[r]); value != column->second.end())
          table.cells[r][c].published = value->second;
      }
    }
    report.tables.push_back(std::move(table));
  }
  return report;
}

// The cells of a line of a Markdown table; none for other lines.
std::vector<std::string> markdown_cells(std::string_view line) {
  line = trim(line);
  std::vector<std::string> cells;
  if (!line.starts_with('|') || line.size() < 2) return cells;
  line.remove_prefix(1);
  for (std::size_t end; (end = line.find('|')) != std::string_view::npos; line.remove_prefix(end + 1))
    cells.emplace_back(trim(line.substr(0, end)));
  return cells;
}

std::optional<double> number_in(std::string cell) {
  std::erase(cell, ',');
  double value = 0;
  return index_tools::parse_number(cell, value) ? std::optional(value) : std::nullopt;
}

/// A row whose model is there.
struct MeasuredRow {
  std::size_t number = 0;  // in the experiment
  SecondStageConfig config;
  std::filesystem::path model;
  std::optional<CostCache> cache = {};
  std::vector<std::optional<CostPoint>> points = {};  // by length
};

std::vector<MeasuredRow> rows_with_models(const Experiment& experiment) {
  std::vector<MeasuredRow> rows;
  for (std::size_t r = 0; r < experiment.rows.size(); ++r) {
    MeasuredRow row{r, index_tools::resolved(experiment, experiment.rows[r]), {}};
    row.model = row.config.model.empty() ? default_model() : std::filesystem::path(row.config.model);
    std::error_code ignored;
    if (std::filesystem::exists(row.model, ignored)) rows.push_back(std::move(row));
  }
  return rows;
}

// Unlike scores, times differ between processors of a kind. Empty where the system does not name its processor so.
std::string processor() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  }
  return {};
}

/// What the row's points follow from, besides their sizes.
std::string description_of(const MeasuredRow& row, std::int32_t threads) {
  const std::int32_t wanted = options_of(row.config, threads).backend.threads;
  return index_tools::description_of_scoring(row.config) +
         fmt::format("processor{}\nthreads {}\n", processor(), wanted > 0 ? wanted : available_cores());
}

std::string size_of(const index_tools::ExperimentCosts& costs, std::int32_t length) {
  return fmt::format("{} tokens, {} candidates, {} of the query, {} runs", length, costs.candidates, costs.query_tokens,
                     costs.runs);
}

/// Opens the rows' caches and takes the points that they have.
void look_up(const Experiment& experiment, const CostStudy& study, const StopSignal& stop,
             std::vector<MeasuredRow>& rows) {
  if (rows.empty()) return;
  // Listing the devices uses the GPUs, which processes forked later could not use any more.
  const std::string descriptions = call_in_own_process(
      [&] {
        return join(rows, std::string_view("\0", 1),
                    [&](const MeasuredRow& row) { return description_of(row, study.threads); });
      },
      stop);
  std::size_t begin = 0;
  for (MeasuredRow& row : rows) {
    const std::size_t end = std::min(descriptions.find('\0', begin), descriptions.size());
    row.cache.emplace(study.cache, std::string_view(descriptions).substr(begin, end - begin));
    begin = end + 1;
    for (const std::int32_t length : experiment.costs->lengths) {
      const CostPoint* const known = study.fresh ? nullptr : row.cache->find(size_of(*experiment.costs, length));
      row.points.push_back(known != nullptr ? std::optional(*known) : std::nullopt);
    }
  }
}

void note_what_is_known(const std::vector<MeasuredRow>& rows, StudyReport& report) {
  std::size_t known = 0, all = 0;
  std::string oldest;
  for (const MeasuredRow& row : rows) {
    for (const std::optional<CostPoint>& point : row.points) {
      ++all;
      if (!point) continue;
      ++known;
      if (oldest.empty() || point->measured < oldest) oldest = point->measured;
    }
  }
  if (known == 0) return;
  report.notes.push_back(fmt::format(
      "{} of {} measurements come from the cache, the oldest of {}; --fresh repeats them", known, all, oldest));
}

/// How long a point takes, for the time left: loading a model takes about as long as scoring so many tokens.
std::int64_t work_of(std::int32_t length) { return 100 + length; }

/// What a device cannot compute, or memory does not suffice for, is also a result: a note. Returns the first such
/// error.
std::optional<Error> measure_missing(const Experiment& experiment, const CostStudy& study, const StopSignal& stop,
                                     std::vector<MeasuredRow>& rows, StudyReport& report) {
  const index_tools::ExperimentCosts& costs = *experiment.costs;
  std::int64_t all = 0, done = 0;
  for (const MeasuredRow& row : rows) {
    for (std::size_t c = 0; c < costs.lengths.size(); ++c) all += row.points[c] ? 0 : work_of(costs.lengths[c]);
  }
  index_tools::Progress progress("measuring", index_tools::Progress::Unit::share, all, study.quiet);
  std::optional<Error> first;
  LongModels models;
  for (MeasuredRow& row : rows) {
    for (std::size_t c = 0; c < costs.lengths.size(); ++c) {
      if (row.points[c]) continue;
      const std::int32_t length = costs.lengths[c];
      stop.throw_if_due("the measurement");
      try {
        const std::filesystem::path folder = models.folder(row.model, length);
        const CrossEncoderOptions options = options_of(row.config, study.threads);
        row.points[c] = parse_cost_point(
            call_in_own_process([&] { return format_cost_point(measure(folder, options, costs, length, stop)); }, stop,
                                [&] { progress.update(0, done); }));
        row.cache->add(size_of(costs, length), *row.points[c]);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::device) throw;
        report.notes.push_back(
            fmt::format("{}, {} tokens: {}", experiment.rows[row.number].name, length, error.what()));
        if (!first) first = error;
      }
      progress.update(0, done += work_of(length));
    }
  }
  return first;
}

void require_points(const std::vector<MeasuredRow>& rows, const std::optional<Error>& failure,
                    const StudyReport& report) {
  for (const MeasuredRow& row : rows) {
    for (const std::optional<CostPoint>& point : row.points) {
      if (point) return;
    }
  }
  if (failure) throw Error(failure->kind(), report.title, "nothing could be measured; " + std::string(failure->what()));
  throw Error(ErrorKind::io, report.title,
              "none of its models is present" + (report.notes.empty() ? "" : "; " + report.notes.front()),
              "name the folder of the data with --data, or the model's with --model");
}

void fill_in(const std::vector<MeasuredRow>& rows, StudyReport& report) {
  // The best that any point of a device and a precision has seen: on a busy machine a single measurement is too low.
  std::map<std::string, std::pair<double, double>> speeds;
  for (const MeasuredRow& row : rows) {
    auto& [peak, bandwidth] = speeds[device_of(row.config)];
    for (const std::optional<CostPoint>& point : row.points) {
      if (!point) continue;
      peak = std::max(peak, point->peak);
      bandwidth = std::max(bandwidth, point->bandwidth);
    }
  }
  for (const MeasuredRow& row : rows) {
    const auto [peak, bandwidth] = speeds[device_of(row.config)];
    for (std::size_t c = 0; c < row.points.size(); ++c) {
      const std::optional<CostPoint>& point = row.points[c];
      if (!point) continue;
      index_tools::StudyCell& time = report.tables[kTime].cells[row.number][c];
      time.value = point->milliseconds;
      if (peak > 0) time.floor = 1e3 * point->operations / peak;
      if (point->bytes > 0) time.floor_bytes = 1e3 * point->bytes / bandwidth;
      if (point->megabytes > 0) report.tables[kMemory].cells[row.number][c].value = point->megabytes;
    }
  }
}

}  // namespace

StudyReport measure_costs(const Experiment& experiment, const CostStudy& study) {
  StudyReport report = empty_report(experiment);
  // Before the long work, to fail early.
  const std::vector<PeerFigures> peers = study.peers.empty() ? std::vector<PeerFigures>() : read_peers(study.peers);
  for (const index_tools::ExperimentPart& part : index_tools::parts_of(experiment)) {
    if (!part.present) report.notes.push_back(index_tools::describe(part));
  }
  StopSignal stop;
  stop.stop = study.stop;
  std::vector<MeasuredRow> rows = rows_with_models(experiment);
  look_up(experiment, study, stop, rows);
  note_what_is_known(rows, report);
  const std::optional<Error> failure = measure_missing(experiment, study, stop, rows, report);
  require_points(rows, failure, report);
  fill_in(rows, report);
  add_peers(peers, report);
  return report;
}

std::vector<PeerFigures> read_peers(const std::filesystem::path& file) {
  double candidates = 0;
  std::string length;
  std::vector<std::string> header;
  std::vector<PeerFigures> peers;
  index_tools::for_each_line(file, [&](const std::string& line, std::int64_t) {
    static const std::regex kSizes("^([0-9,]+) candidates (a query|x ([0-9,]+) tokens)");
    if (std::smatch match; std::regex_search(line, match, kSizes)) {
      candidates = number_in(match[1].str()).value_or(0);
      length = match[3].str();
      std::erase(length, ',');
    }
    const std::vector<std::string> cells = markdown_cells(line);
    if (cells.empty() || cells[0].starts_with("---")) return;
    if (std::find(cells.begin(), cells.end(), "contender") != cells.end()) {
      header = cells;
      return;
    }
    if (header.empty() || cells.size() < 3 || !(candidates > 0)) return;
    const auto has = [&](std::string_view name) {
      return std::find(header.begin(), header.end(), name) != header.end();
    };
    const auto cell = [&](std::string_view name) -> std::string {
      const auto place = static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
      return place < std::min(header.size(), cells.size()) ? cells[place] : std::string();
    };
    const char* const time = has("device, ms") ? "device, ms" : has("median ms") ? "median ms" : "text to logits, ms";
    std::string tokens = cell("tokens");
    std::erase(tokens, ',');
    const std::optional<double> ms = number_in(cell(time)), kb = number_in(cell("KB a candidate"));
    if (!ms && !kb) return;
    peers.push_back({cell("contender"), tokens.empty() ? length : tokens,
                     ms ? std::optional(*ms / candidates) : std::nullopt,
                     kb ? std::optional(*kb / 1000) : std::nullopt});
  });
  if (peers.empty()) {
    throw Error(ErrorKind::invalid_data, file.string(), "has no table of contenders",
                "pass what tests/benchmarks/gpu/compare.sh or tests/benchmarks/peers/compare.sh printed");
  }
  return peers;
}

void add_peers(const std::vector<PeerFigures>& peers, StudyReport& report) {
  std::set<std::string> other_lengths;
  for (const PeerFigures& peer : peers) {
    const auto column = std::find(report.columns.begin(), report.columns.end(), peer.length);
    if (column == report.columns.end()) {
      other_lengths.insert(peer.length);
      continue;
    }
    auto row = std::find(report.rows.begin(), report.rows.end(), peer.name);
    if (row == report.rows.end()) {
      row = report.rows.insert(report.rows.end(), peer.name);
      for (StudyTable& table : report.tables) table.cells.emplace_back(report.columns.size());
    }
    const auto r = static_cast<std::size_t>(row - report.rows.begin());
    const auto c = static_cast<std::size_t>(column - report.columns.begin());
    report.tables[kTime].cells[r][c].value = peer.milliseconds;
    report.tables[kMemory].cells[r][c].value = peer.megabytes;
  }
  if (!other_lengths.empty()) {
    report.notes.push_back(fmt::format("left out of the peers: {} tokens, which the study does not measure",
                                       fmt::join(other_lengths, ", ")));
  }
}

}  // namespace relucent::benchmarks
