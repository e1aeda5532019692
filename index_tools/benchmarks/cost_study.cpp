#include "index_tools/benchmarks/cost_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/benchmarks/child_process.h"
#include "index_tools/benchmarks/cost_point.h"
#include "index_tools/benchmarks/peer_figures.h"
#include "index_tools/benchmarks/work_folder.h"
#include "index_tools/experiments/content_hash.h"
#include "index_tools/experiments/experiment_parts.h"
#include "index_tools/indexing/progress.h"
#include "relucent/error.h"
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

ScorerConfig scorer_of(const ScorerConfig& config, std::int32_t threads) {
  ScorerConfig scorer = config;
  if (threads > 0) scorer.threads = threads;
  return scorer;
}

/// The device and the precision.
std::string device_of(const ScorerConfig& config) {
  return to_string(config.device) + " " + to_string(config.precision);
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
    row.model = model_folder(row.config.model);
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
  const std::int32_t wanted = scorer_of(row.config, threads).threads;
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
      row.points.push_back(study.fresh ? std::nullopt : row.cache->find(size_of(*experiment.costs, length)));
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
        const ScorerConfig scorer = scorer_of(row.config, study.threads);
        const std::filesystem::path folder =
            reads_parts(row.model, scorer) ? row.model : models.folder(row.model, length);
        row.points[c] = CostPoint::from_line(
            call_in_own_process([&] { return measure_cost(folder, scorer, costs, length, stop).to_line(); }, stop,
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
      index_tools::StudyCell& time = report.tables[kTimeTable].cells[row.number][c];
      time.value = point->milliseconds;
      if (peak > 0 && point->operations > 0) time.floor = 1e3 * point->operations / peak;
      if (point->bytes > 0) time.floor_bytes = 1e3 * point->bytes / bandwidth;
      if (point->megabytes > 0) report.tables[kMemoryTable].cells[row.number][c].value = point->megabytes;
    }
  }
}

}  // namespace

StudyReport measure_costs(const Experiment& experiment, const CostStudy& study) {
  StudyReport report = index_tools::begin_report(experiment);
  report.references.assign(report.columns.size(), "");  // times are not tested
  report.relative_to = experiment.reference;
  for (const char* measure : {"ms", "MB"}) {
    StudyTable& table = add_table(report, experiment, measure);
    table.decimals = 3;
    table.lower_is_better = true;
  }
  // Before the long work, to fail early.
  const std::vector<PeerFigures> peers = study.peers.empty() ? std::vector<PeerFigures>() : read_peers(study.peers);
  for (const index_tools::ExperimentPart& part : index_tools::parts_of(experiment)) {
    if (!part.present) report.notes.push_back(index_tools::describe(part));
  }
  const StopSignal stop{{}, study.stop};
  std::vector<MeasuredRow> rows = rows_with_models(experiment);
  look_up(experiment, study, stop, rows);
  note_what_is_known(rows, report);
  const std::optional<Error> failure = measure_missing(experiment, study, stop, rows, report);
  require_points(rows, failure, report);
  fill_in(rows, report);
  add_peers(peers, report);
  index_tools::compare_costs(report);
  return report;
}

}  // namespace relucent::benchmarks
