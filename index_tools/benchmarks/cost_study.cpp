#include "index_tools/benchmarks/cost_study.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/file/file_io.h"
#include "base/file/unique_fd.h"
#include "base/text.h"
#include "index_tools/benchmarks/generated_texts.h"
#include "index_tools/benchmarks/measurement.h"
#include "index_tools/benchmarks/model_benchmark.h"
#include "index_tools/benchmarks/work_folder.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/experiments/experiment_run.h"
#include "relucent/error.h"
#include "relucent/kernels/encoder.h"
#include "relucent/kernels/peak.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "relucent/stop.h"

namespace relucent::benchmarks {
namespace {

using index_tools::Experiment;
using index_tools::ExperimentRow;
using index_tools::StudyReport;
using index_tools::StudyTable;

constexpr std::size_t kTime = 0, kMemory = 1;  // tables of the report

// From now on, the process's peak of memory is counted anew; false where the system does not offer that.
bool reset_peak_memory() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

CrossEncoderOptions options_of(const RescorerConfig& config, std::int32_t threads) {
  CrossEncoderOptions options;
  options.backend.device = config.device;
  options.backend.precision = config.precision;
  options.backend.threads = threads > 0 ? threads : config.threads;
  options.attention_window = config.attention_window;
  switch (config.pattern) {
    case PatternChoice::checkpoint: break;
    case PatternChoice::full: options.pattern = NamedPattern::full; break;
    case PatternChoice::longformer: options.pattern = NamedPattern::longformer; break;
    case PatternChoice::qds: options.pattern = NamedPattern::qds; break;
    case PatternChoice::sparse: options.pattern = NamedPattern::sparse; break;
  }
  return options;
}

/// The device and the precision.
std::string device_of(const RescorerConfig& config) {
  return to_string(config.device) + " " + to_string(config.precision);
}

/// Of the layers, as the backend multiplies them.
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

/// Per second.
struct Speeds {
  double operations = 0;  // 0: unknown
  double bytes = 0;       // of the processor's memory; 0 on other devices
};

/// Per candidate.
struct Point {
  double milliseconds = 0;
  double operations = 0, bytes = 0;
  double megabytes = 0;  // 0: unknown
  Speeds speeds;
};

Point measure(const std::filesystem::path& model, CrossEncoderOptions options,
              const index_tools::ExperimentCosts& costs, std::int32_t length, const StopSignal& stop) {
  options.max_length = length;
  const auto encoder = CrossEncoder::load(model, options);
  const GeneratedTexts texts = generate_texts(model, costs.candidates, length, costs.query_tokens);
  const std::vector<std::string_view> views(texts.documents.begin(), texts.documents.end());
  Point point;
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
  point.operations =
      operations(description, costs.candidates, costs.query_tokens + 1, length - costs.query_tokens - 2) / count;
  point.speeds.operations = measured_peak(encoder->backend());
  if (scores.times.device.count() == 0) {
    point.bytes = weight_bytes(description, encoder->backend().precision) / count;
    point.speeds.bytes = measured_read_bandwidth(encoder->backend().threads);
  }
  return point;
}

/// What a process of its own writes to its parent: a point or an error.
struct Answer {
  bool measured = false;
  Point point;
  ErrorKind kind = ErrorKind::internal;
  char message[2000] = {};
};
static_assert(std::is_trivially_copyable_v<Answer>);

[[noreturn]] void answer_and_exit(int descriptor, const std::function<Point()>& work) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto answer = std::make_unique<Answer>();
  try {
    answer->point = work();
    answer->measured = true;
  } catch (const Error& error) {
    answer->kind = error.kind();
    std::strncpy(answer->message, error.what(), sizeof answer->message - 1);
  } catch (const std::exception& error) {
    std::strncpy(answer->message, error.what(), sizeof answer->message - 1);
  }
  try {
    write_all(descriptor, {reinterpret_cast<const char*>(answer.get()), sizeof(Answer)}, "pipe");
  } catch (const Error&) {
    ::_exit(1);
  }
  ::_exit(0);
}

/// Measures in a process of its own, which no earlier model has left memory to. Requires that no encoder lives, whose
/// threads the new process would lack.
Point measure_apart(const std::function<Point()>& work, const StopSignal& stop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_io_error("pipe", "creating", errno);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw_io_error("process", "creating", errno);
  if (child == 0) answer_and_exit(theirs.get(), work);
  theirs.reset();
  std::string bytes;
  bool killed = false;
  char buffer[4096];
  for (;;) {
    pollfd ready{ours.get(), POLLIN, 0};
    if (::poll(&ready, 1, 100) > 0) {
      const std::size_t count = read_some(ours.get(), buffer, sizeof buffer, "pipe");
      if (count == 0) break;
      bytes.append(buffer, count);
    } else if (stop.stop.stop_requested() && !killed) {
      killed = true;
      ::kill(child, SIGKILL);
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  stop.throw_if_due("the measurement");
  if (bytes.size() != sizeof(Answer)) {
    throw Error(ErrorKind::io, "the measuring process", fmt::format("was ended by signal {}", WTERMSIG(status)),
                "if memory ran out, measure fewer candidates or shorter lengths");
  }
  const auto answer = std::make_unique<Answer>();
  std::memcpy(static_cast<void*>(answer.get()), bytes.data(), sizeof(Answer));
  if (!answer->measured) throw Error(answer->kind, {}, answer->message);
  return answer->point;
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

}  // namespace

StudyReport measure_costs(const Experiment& experiment, const CostStudy& study) {
  StudyReport report = empty_report(experiment);
  // Before the long work, to fail early.
  const std::vector<PeerFigures> peers = study.peers.empty() ? std::vector<PeerFigures>() : read_peers(study.peers);
  const index_tools::ExperimentCosts& costs = *experiment.costs;
  StopSignal stop;
  stop.stop = study.stop;
  for (const index_tools::ExperimentPart& part : index_tools::parts_of(experiment)) {
    if (!part.present) report.notes.push_back(index_tools::describe(part));
  }
  LongModels models;
  // The best that any point of a device and a precision has seen: on a busy machine a single measurement is too low.
  std::map<std::string, Speeds> speeds;
  std::vector<std::vector<std::optional<Point>>> points(report.rows.size(),
                                                        std::vector<std::optional<Point>>(costs.lengths.size()));
  const auto all = static_cast<std::int64_t>(report.rows.size() * report.columns.size());
  std::int64_t done = 0;
  for (std::size_t r = 0; r < experiment.rows.size(); ++r) {
    const ExperimentRow& row = experiment.rows[r];
    const RescorerConfig config = index_tools::resolved(experiment, row);
    Speeds& best = speeds[device_of(config)];
    const std::filesystem::path model = config.model.empty() ? default_model() : std::filesystem::path(config.model);
    for (std::size_t c = 0; c < costs.lengths.size(); ++c, ++done) {
      stop.throw_if_due("the measurement");
      study.update(done, all);
      std::error_code ignored;
      if (!std::filesystem::exists(model, ignored)) continue;
      try {
        const std::filesystem::path folder = models.folder(model, costs.lengths[c]);
        const CrossEncoderOptions options = options_of(config, study.threads);
        const Point& point = points[r][c].emplace(
            measure_apart([&] { return measure(folder, options, costs, costs.lengths[c], stop); }, stop));
        best.operations = std::max(best.operations, point.speeds.operations);
        best.bytes = std::max(best.bytes, point.speeds.bytes);
      } catch (const Error& error) {
        // What a device cannot compute is a result, too.
        if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::device) throw;
        report.notes.push_back(fmt::format("{}, {} tokens: {}", row.name, costs.lengths[c], error.what()));
      }
    }
  }
  for (std::size_t r = 0; r < experiment.rows.size(); ++r) {
    const Speeds& best = speeds[device_of(index_tools::resolved(experiment, experiment.rows[r]))];
    for (std::size_t c = 0; c < costs.lengths.size(); ++c) {
      const std::optional<Point>& point = points[r][c];
      if (!point) continue;
      index_tools::StudyCell& time = report.tables[kTime].cells[r][c];
      time.value = point->milliseconds;
      if (best.operations > 0) time.floor = 1e3 * point->operations / best.operations;
      if (point->bytes > 0) time.floor_bytes = 1e3 * point->bytes / best.bytes;
      if (point->megabytes > 0) report.tables[kMemory].cells[r][c].value = point->megabytes;
    }
  }
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
