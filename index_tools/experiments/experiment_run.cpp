#include "index_tools/experiments/experiment_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "index_tools/evaluation/comparison.h"
#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/experiments/content_hash.h"
#include "index_tools/experiments/result_cache.h"
#include "relucent/error.h"
#include "relucent/rescore_candidates.h"
#include "relucent/stop.h"
#include "relucent/times.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What a row scored for a task.
struct TaskResult {
  Evaluation evaluation;
  std::optional<double> milliseconds;
  std::optional<std::size_t> truncated;
};

using Results = std::map<std::pair<std::string, std::string>, TaskResult>;  // by row and column

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Names of files have no room for everything that a row's name may hold.
std::string plain_name(const std::string& row, const std::string& task) {
  std::string name = row + "." + task;
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
                       c == '-' || c == '=' || c == ',' || static_cast<unsigned char>(c) >= 0x80;
    if (!plain) c = '_';
  }
  return name;
}

std::int64_t bytes_of(const RerankQuery& query) {
  std::int64_t bytes = 0;
  for (const RerankCandidate& candidate : query.candidates)
    bytes += static_cast<std::int64_t>(query.text.size() + candidate.text.size());
  return bytes;
}

RankedQuery ranked(const RerankQuery& query, const TopicResult* result) {
  RankedQuery ranked{query.id, {}};
  if (result == nullptr) {  // the first stage's order, whatever its scores
    for (const RerankCandidate& candidate : query.candidates)
      ranked.hits.push_back({candidate.docno, -static_cast<double>(candidate.rank)});
    return ranked;
  }
  for (const TopicResult::Hit& hit : result->order) {
    if (hit.candidate >= query.candidates.size())
      throw Error(ErrorKind::internal, "cache", "a result has more hits than the topic has candidates");
    ranked.hits.push_back({query.candidates[hit.candidate].docno, hit.score});
  }
  return ranked;
}

Run run_of(const std::vector<RankedQuery>& queries) {
  Run run;
  for (const RankedQuery& query : queries) {
    run.queries[query.id] = with_scores_apart(query).hits;
    run.query_order.push_back(query.id);
  }
  return run;
}

TopicResult rerank(const std::vector<RescoringStage>& stages, const RerankQuery& query, const std::stop_token& stop) {
  StopSignal signal;
  signal.stop = stop;
  const auto started = std::chrono::steady_clock::now();
  const RescoredCandidates rescored = rescore_candidates(stages, query.text, scorer_candidates(query), signal);
  TopicResult result;
  result.milliseconds = in_milliseconds(time_since(started));
  for (const CombinedHit& hit : rescored.order) result.order.push_back({hit.index, hit.score});
  for (const auto& score : rescored.scores) {
    if (!score) {
      ++result.without_text;
    } else if (score->truncated) {
      ++result.truncated;
    }
  }
  return result;
}

/// A name of its own for each row and task: a number tells those apart that look alike.
std::map<std::pair<std::string, std::string>, std::string> run_file_names(const Experiment& experiment) {
  std::map<std::pair<std::string, std::string>, std::string> names;
  std::set<std::string> taken;
  for (const ExperimentRow& row : experiment.rows) {
    for (const ExperimentTask& task : experiment.tasks) {
      const std::string plain = plain_name(row.name, task.name);
      std::string name = plain;
      for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", plain, number);
      names[{row.name, task.name}] = name + ".run";
    }
  }
  return names;
}

class Runner {
 public:
  Runner(const Experiment& experiment, const ExperimentRun& run)
      : e_(experiment), run_(run), parts_(parts_of(experiment)), run_files_(run_file_names(experiment)) {}

  StudyReport run() {
    std::vector<const ExperimentTask*> incomplete;
    std::int64_t missing_bytes = 0;
    for (const ExperimentTask& task : e_.tasks) {
      if (!is_present(task)) continue;
      const std::int64_t missing = look_up(task);
      if (missing > 0) incomplete.push_back(&task);
      missing_bytes += missing;
    }
    if (results_.empty() && incomplete.empty()) fail_for_want_of_everything();
    run_.begin(missing_bytes);
    for (const ExperimentTask* task : incomplete) compute(*task);
    add_averages();
    return report();
  }

 private:
  struct Prepared {
    std::vector<RerankQuery> queries;  // judged
    std::vector<std::uint64_t> hashes;
    Qrels qrels;
  };

  bool is_present(const ExperimentTask& task) const {
    return std::none_of(parts_.begin(), parts_.end(),
                        [&task](const ExperimentPart& part) { return !part.present && names(part.tasks, task.name); });
  }

  bool is_present(const ExperimentRow& row, const ExperimentTask& task) const {
    if (!names(row.tasks, task.name)) return false;
    if (row.kind == ExperimentRow::Kind::runs) return is_there(row.run.at(task.name));
    return std::none_of(parts_.begin(), parts_.end(), [&row](const ExperimentPart& part) {
      return !part.present && !part.replaced && part.tasks.empty() && names(part.rows, row.name);
    });
  }

  Prepared prepare(const ExperimentTask& task) const {
    Prepared prepared;
    prepared.qrels = read_qrels(task.qrels);
    RerankInput input = task.candidates.empty() ? run_.search(task) : read_rerank_input(task.candidates, false);
    const std::string first = input.queries.front().id;
    std::erase_if(input.queries, [&](const RerankQuery& query) { return !prepared.qrels.contains(query.id); });
    if (input.queries.empty()) {
      throw Error(ErrorKind::invalid_data, task.qrels.string(),
                  fmt::format("judges none of the topics of task \"{}\" (first topic: \"{}\" there, \"{}\" here)",
                              task.name, first, prepared.qrels.begin()->first),
                  "name the judgments of these topics");
    }
    if (run_.topics > 0 && input.queries.size() > run_.topics) input.queries.resize(run_.topics);
    prepared.queries = std::move(input.queries);
    for (const RerankQuery& query : prepared.queries) prepared.hashes.push_back(hash_of_topic(query));
    return prepared;
  }

  const std::string& description_of(const ExperimentRow& row) {
    const auto [place, is_new] = descriptions_.try_emplace(row.name);
    if (is_new) place->second = description_of_scoring(resolved(e_, row));
    return place->second;
  }

  // Evaluates the rows that need no computing; returns the bytes of text that the others have yet to read.
  std::int64_t look_up(const ExperimentTask& task) {
    const Prepared prepared = prepare(task);
    std::int64_t missing = 0;
    for (const ExperimentRow& row : e_.rows) {
      if (!is_present(row, task)) continue;
      stop_if_due();
      if (row.kind == ExperimentRow::Kind::runs) {
        Run run = read_run(row.run.at(task.name));
        std::erase_if(run.queries, [&](const auto& query) {
          return run_.topics > 0 && std::none_of(prepared.queries.begin(), prepared.queries.end(),
                                                 [&](const RerankQuery& one) { return one.id == query.first; });
        });
        keep(row, task, run, prepared.qrels, {}, {});
      } else if (row.kind == ExperimentRow::Kind::first_stage) {
        evaluate_row(row, task, prepared, nullptr);
      } else {
        const ResultCache cache(run_.cache, description_of(row));
        std::int64_t of_row = 0;
        for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
          if (cache.find(prepared.hashes[i]) == nullptr)
            of_row += std::max<std::int64_t>(1, bytes_of(prepared.queries[i]));
        }
        missing += of_row;
        if (of_row == 0) evaluate_row(row, task, prepared, &cache);
      }
    }
    return missing;
  }

  void compute(const ExperimentTask& task) {
    const Prepared prepared = prepare(task);
    for (const ExperimentRow& row : e_.rows) {
      if (!is_present(row, task) || results_.contains({row.name, task.name})) continue;
      ResultCache cache(run_.cache, description_of(row));
      const std::vector<RescoringStage> stages = stages_of(row);
      for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
        stop_if_due();
        if (cache.find(prepared.hashes[i]) != nullptr) continue;
        cache.add(prepared.hashes[i], rerank(stages, prepared.queries[i], run_.stop));
        candidates_done_ += static_cast<std::int64_t>(prepared.queries[i].candidates.size());
        bytes_done_ += std::max<std::int64_t>(1, bytes_of(prepared.queries[i]));
        run_.update(candidates_done_, bytes_done_);
      }
      evaluate_row(row, task, prepared, &cache);
    }
  }

  std::vector<RescoringStage> stages_of(const ExperimentRow& row) {
    RescorerConfig config = resolved(e_, row);
    // An order that is not the model's would be a wrong result.
    config.on_error = OnError::fail;
    config.timeout = {};
    config.find_passages = false;
    for (RescorerConfig* stage : all_stages(config)) {
      stage->fallback_device = FallbackDevice::none;
      if (run_.threads > 0) stage->threads = run_.threads;
    }
    std::vector<RescoringStage> stages = make_stages(config, make_scorers(config));
    for (const RescoringStage& stage : stages) {
      if (stage.scorer->passage_model() != nullptr) {
        throw Error(ErrorKind::unsupported, row.name, "is a MIR, which needs the graphs of an index",
                    "write its run with `relucent search`, and make it a row of kind = \"runs\"");
      }
      const std::string warning = stage.scorer->warning();
      if (!warning.empty() && warnings_.insert(warning).second) run_.note(warning);
    }
    return stages;
  }

  static std::vector<RescorerConfig*> all_stages(RescorerConfig& config) {
    std::vector<RescorerConfig*> all = {&config};
    for (RescorerConfig& stage : config.stages) all.push_back(&stage);
    return all;
  }

  void evaluate_row(const ExperimentRow& row, const ExperimentTask& task, const Prepared& prepared,
                    const ResultCache* cache) {
    std::vector<RankedQuery> queries;
    double milliseconds = 0;
    std::size_t truncated = 0, candidates = 0;
    for (std::size_t i = 0; i < prepared.queries.size(); ++i) {
      const TopicResult* result = cache != nullptr ? cache->find(prepared.hashes[i]) : nullptr;
      queries.push_back(ranked(prepared.queries[i], result));
      candidates += prepared.queries[i].candidates.size();
      if (result == nullptr) continue;
      milliseconds += result->milliseconds;
      truncated += result->truncated;
    }
    if (!run_.runs.empty()) {
      fs::create_directories(run_.runs);
      write_run(run_.runs / run_files_.at({row.name, task.name}), queries, "relucent");
    }
    const bool scored = cache != nullptr && candidates > 0;
    keep(row, task, run_of(queries), prepared.qrels,
         scored ? std::optional(milliseconds / static_cast<double>(candidates)) : std::nullopt,
         scored ? std::optional(truncated) : std::nullopt);
  }

  void keep(const ExperimentRow& row, const ExperimentTask& task, const Run& run, const Qrels& qrels,
            std::optional<double> milliseconds, std::optional<std::size_t> truncated) {
    TaskResult result{evaluate(run, qrels, e_.measures), milliseconds, truncated};
    if (result.evaluation.queries.empty()) {
      throw Error(ErrorKind::invalid_data, fmt::format("row \"{}\", task \"{}\"", row.name, task.name),
                  "has no topic in common with the judgments", "name a run of the task's topics");
    }
    results_[{row.name, task.name}] = std::move(result);
  }

  void add_averages() {
    for (const ExperimentAverage& average : e_.averages) {
      for (const ExperimentRow& row : e_.rows) {
        if (std::any_of(average.of.begin(), average.of.end(), [&](const std::string& column) {
              return !results_.contains({row.name, column});
            }))
          continue;
        results_[{row.name, average.name}].evaluation = mean(average, row);
      }
    }
  }

  Evaluation mean(const ExperimentAverage& average, const ExperimentRow& row) const {
    Evaluation all;
    all.all.assign(e_.measures.size(), 0);
    double weight = 0;
    for (const std::string& column : average.of) {
      const Evaluation& one = results_.at({row.name, column}).evaluation;
      const double share = average.over_tasks ? 1 : static_cast<double>(one.averaged_over);
      weight += share;
      all.averaged_over += one.averaged_over;
      for (std::size_t m = 0; m < e_.measures.size(); ++m)
        all.all[m] += (e_.measures[m].is_count() ? 1 : share) * one.all[m];
      if (average.over_tasks) continue;
      // Different tasks may have topics of the same id.
      for (const auto& [query, values] : one.queries) all.queries[column + "\t" + query] = values;
    }
    for (std::size_t m = 0; m < e_.measures.size(); ++m) {
      if (!e_.measures[m].is_count()) all.all[m] /= weight;
    }
    return all;
  }

  StudyReport report() const {
    StudyReport report;
    report.title = e_.title;
    report.source = e_.source;
    report.columns = e_.columns();
    report.bound = e_.bound;
    report.level = e_.level;
    report.holm = e_.holm;
    for (const ExperimentRow& row : e_.rows) report.rows.push_back(row.name);
    for (const std::string& column : report.columns) report.references.push_back(e_.reference_of(column));
    for (std::size_t m = 0; m < e_.measures.size(); ++m) report.tables.push_back(table(report, m));
    if (e_.times) report.tables.push_back(times(report));
    correct_tests(report);
    if (run_.topics > 0)
      report.notes.push_back(fmt::format("only the first {} judged topics of each task", run_.topics));
    for (const ExperimentPart& part : parts_) {
      if (!part.present) report.notes.push_back(describe(part));
    }
    return report;
  }

  // fill(cell, result, row, column) sets the value.
  template <typename Fill>
  StudyTable filled(const StudyReport& report, const std::string& measure, const Fill& fill) const {
    StudyTable table;
    table.measure = measure;
    table.cells.assign(report.rows.size(), std::vector<StudyCell>(report.columns.size()));
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      for (std::size_t c = 0; c < report.columns.size(); ++c) {
        StudyCell& cell = table.cells[r][c];
        cell.published = published(measure, report.columns[c], report.rows[r]);
        const auto found = results_.find({report.rows[r], report.columns[c]});
        if (found == results_.end()) continue;
        cell.milliseconds = found->second.milliseconds;
        cell.truncated = found->second.truncated;
        fill(cell, found->second, r, c);
      }
    }
    return table;
  }

  StudyTable table(const StudyReport& report, std::size_t m) const {
    const Measure& measure = e_.measures[m];
    const auto fill = [&](StudyCell& cell, const TaskResult& result, std::size_t r, std::size_t c) {
      cell.value = result.evaluation.all[m];
      const auto reference = results_.find({report.references[c], report.columns[c]});
      if (reference == results_.end() || report.references[c] == report.rows[r] || measure.is_count()) return;
      const PairedValues pairs = paired_values(result.evaluation, reference->second.evaluation, m);
      if (!pairs.a.empty()) cell.tests = paired_tests(pairs.a, pairs.b, e_.bound);
    };
    StudyTable table = filled(report, measure.name, fill);
    table.decimals = measure.is_count() ? 0 : 4;
    return table;
  }

  StudyTable times(const StudyReport& report) const {
    StudyTable table = filled(report, kTimes, [](StudyCell& cell, const TaskResult& result, std::size_t, std::size_t) {
      cell.value = result.milliseconds;
    });
    table.decimals = 3;
    table.lower_is_better = true;
    return table;
  }

  std::optional<double> published(const std::string& measure, const std::string& column, const std::string& row) const {
    const auto of_measure = e_.published.find(measure);
    if (of_measure == e_.published.end()) return std::nullopt;
    const auto of_column = of_measure->second.find(column);
    if (of_column == of_measure->second.end()) return std::nullopt;
    const auto value = of_column->second.find(row);
    return value == of_column->second.end() ? std::nullopt : std::optional(value->second);
  }

  void stop_if_due() const {
    StopSignal signal;
    signal.stop = run_.stop;
    signal.throw_if_due("the experiment");
  }

  [[noreturn]] void fail_for_want_of_everything() const {
    const auto missing = std::find_if(parts_.begin(), parts_.end(), [](const auto& part) { return !part.present; });
    throw Error(ErrorKind::io, e_.title,
                "nothing of it is present" + (missing == parts_.end() ? "" : "; " + describe(*missing)),
                "name the folder of the data with --data; `relucent experiment check` lists what is missing");
  }

  const Experiment& e_;
  const ExperimentRun& run_;
  const std::vector<ExperimentPart> parts_;
  const std::map<std::pair<std::string, std::string>, std::string> run_files_;
  std::unordered_map<std::string, std::string> descriptions_;
  std::set<std::string> warnings_;
  Results results_;
  std::int64_t candidates_done_ = 0, bytes_done_ = 0;
};

}  // namespace

std::vector<ExperimentPart> parts_of(const Experiment& experiment) {
  std::vector<ExperimentPart> parts;
  const auto add = [&parts](std::string what, const fs::path& path, const std::string& get) -> ExperimentPart& {
    parts.push_back({std::move(what), path, get, is_there(path)});
    return parts.back();
  };
  for (const ExperimentModel& model : experiment.models) {
    if (model.folder.empty()) continue;
    ExperimentPart& part = add(fmt::format("model \"{}\"", model.name), model.folder, model.get);
    part.replaced = !part.present && model.or_bundled;
    for (const ExperimentRow& row : experiment.rows) {
      if (row.kind == ExperimentRow::Kind::model && row.model == model.name) part.rows.push_back(row.name);
    }
  }
  for (const ExperimentRow& row : experiment.rows) {
    std::set<std::string> models;
    for (const RescorerConfig& stage : row.rescorer.stages) {
      if (stage.model.empty() || !models.insert(stage.model).second) continue;
      const std::string what = fmt::format("a stage's model of row \"{}\"", row.name);
      add(what, stage.model, "").rows = {row.name};
    }
  }
  for (const ExperimentTask& task : experiment.tasks) {
    const std::pair<const char*, const fs::path*> files[] = {{"candidates", &task.candidates},
                                                             {"index", &task.index},
                                                             {"topics", &task.topics},
                                                             {"run", &task.run},
                                                             {"judgments", &task.qrels}};
    for (const auto& [what, file] : files) {
      if (!file->empty()) add(fmt::format("{} of task \"{}\"", what, task.name), *file, task.get).tasks = {task.name};
    }
  }
  for (const ExperimentRow& row : experiment.rows) {
    for (const auto& [task, file] : row.run)
      add(fmt::format("run of row \"{}\" for task \"{}\"", row.name, task), file, "").rows = {row.name};
  }
  return parts;
}

std::string describe(const ExperimentPart& part) {
  std::string text =
      fmt::format("{} {}: {}", part.what, part.present ? "is present" : "is missing", part.path.string());
  if (part.replaced) text += "; the bundled checkpoint takes its place";
  if (!part.present && !part.get.empty()) text += "; " + part.get;
  return text;
}

RescorerConfig resolved(const Experiment& experiment, const ExperimentRow& row) {
  RescorerConfig config = row.rescorer;
  if (row.model.empty()) return config;
  const ExperimentModel& model = experiment.model(row.model);
  config.model = model.or_bundled && !is_there(model.folder) ? std::string() : model.folder.string();
  return config;
}

StudyReport run_experiment(const Experiment& experiment, const ExperimentRun& run) {
  return Runner(experiment, run).run();
}

}  // namespace relucent::index_tools
