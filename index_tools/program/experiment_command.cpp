#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "index_tools/benchmarks/cost_study.h"
#include "index_tools/evaluation/run.h"
#include "index_tools/evaluation/topics.h"
#include "index_tools/experiments/experiment_file.h"
#include "index_tools/experiments/experiment_parts.h"
#include "index_tools/experiments/experiment_run.h"
#include "index_tools/experiments/study_plot.h"
#include "index_tools/experiments/study_report.h"
#include "index_tools/indexing/graph_notes.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/cache_folder.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/ir_metadata.h"
#include "index_tools/program/text_output.h"
#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/second_stage/graph_input.h"
#include "relucent/error.h"
#include "relucent/rescore_candidates.h"
#include "relucent/search_session.h"
#include "relucent/threads.h"

namespace relucent::program {
namespace {

using index_tools::Experiment;
using index_tools::ExperimentPart;
using index_tools::ExperimentTask;
using index_tools::StudyReport;

struct ExperimentOptions {
  std::string file, data, cache, format = "table", output = "-", runs, plot, peers, metadata;
  int topics = 0, threads = 0;
  bool fresh = false, quiet = false;
};

// The hits of a run with their whole texts.
index_tools::RerankInput look_up(const ExperimentTask& task, SearchSession& session) {
  const index_tools::Run run = index_tools::read_run(task.run);
  std::map<std::string, std::string> queries;
  for (const index_tools::Topic& topic : index_tools::read_topics(task.topics))
    queries[topic.id] = index_tools::topic_text(topic, task.topic_text);
  index_tools::RerankInput input;
  std::unordered_set<std::string> wanted;
  for (const std::string& id : run.query_order) {
    const auto text = queries.find(id);
    if (text == queries.end()) {
      throw Error(ErrorKind::invalid_data, task.topics.string(),
                  fmt::format("lacks topic {} of the run {}", id, task.run.string()), "name the topics of the run");
    }
    index_tools::RerankQuery& query = input.queries.emplace_back();
    query.id = id;
    query.text = text->second;
    std::vector<index_tools::RunHit> hits = run.queries.at(id);
    index_tools::sort_as_trec_eval(hits);
    if (hits.size() > static_cast<std::size_t>(task.hits)) hits.resize(static_cast<std::size_t>(task.hits));
    for (const index_tools::RunHit& hit : hits) {
      query.candidates.push_back(
          {hit.docno, {}, hit.score, static_cast<std::int64_t>(query.candidates.size()) + 1, {}});
      wanted.insert(hit.docno);
    }
    input.candidates += query.candidates.size();
  }
  const auto texts = session.texts_of(wanted);
  for (index_tools::RerankQuery& query : input.queries) {
    for (index_tools::RerankCandidate& candidate : query.candidates) {
      const auto text = texts.find(candidate.docno);
      if (text == texts.end()) {
        throw Error(ErrorKind::invalid_data, task.run.string(),
                    fmt::format("document {} is not in {}", candidate.docno, task.index.string()),
                    "name the index of the run's collection");
      }
      candidate.text = text->second;
    }
  }
  return input;
}

// A run's hits, or BM25's best hits with their whole texts, as `relucent search --rerank-file` writes them.
index_tools::RerankInput search(const ExperimentTask& task) {
  Config config;
  config.first_stage = task.first_stage;
  config.rescorer.enabled = false;
  SearchSession session(task.index, config, QuerySyntax::words);
  if (!task.run.empty()) return look_up(task, session);
  index_tools::RerankInput input;
  for (const index_tools::Topic& topic : index_tools::read_topics(task.topics)) {
    const std::string& text = index_tools::topic_text(topic, task.topic_text);
    index_tools::RerankQuery query{topic.id, text, {}};
    const SearchResult found = session.search(text, task.hits, HitTexts::whole);
    for (const SearchHit& hit : found.hits) query.candidates.push_back({hit.id, hit.text, hit.score, hit.rank, {}});
    input.candidates += query.candidates.size();
    if (!query.candidates.empty()) input.queries.push_back(std::move(query));
  }
  if (input.queries.empty()) {
    throw Error(ErrorKind::invalid_data, task.topics.string(), "finds nothing in " + task.index.string(),
                "name the index of the topics' collection");
  }
  return input;
}

// What the task names for the graphs of a MIR.
index_tools::GraphNotesJob notes_of(const ExperimentTask& task) {
  index_tools::GraphNotesJob job;
  job.weights_file = task.weights;
  job.entities_file = task.entities;
  if (!task.weights.empty()) job.weights = index_tools::GraphNotesJob::Weights::file;
  if (task.log.empty()) return job;
  job.weights = index_tools::GraphNotesJob::Weights::query_log;
  for (const index_tools::Topic& topic : index_tools::read_topics(task.log)) {
    job.log_queries.push_back(index_tools::topic_text(topic, task.topic_text));
  }
  return job;
}

index_tools::ExperimentRun::Rerank with_graphs(const ExperimentTask& task, const std::filesystem::path& index,
                                               const SecondStageConfig& rescorer, std::vector<RescoringStage> stages,
                                               const ExperimentOptions& options, const InterruptStop& interrupt) {
  if (need_index(stages)) {
    const auto statistics = open_statistics(index, {});
    open_inputs(stages, statistics);
    const index_tools::GraphNotesJob job = notes_of(task);
    const StopSignal stop{{}, interrupt.token()};
    const auto notes = job.origins() == GraphOrigins()
                           ? nullptr
                           : index_tools::open_text_notes(job, index, {}, options.threads, options.quiet, stop);
    for (const std::string& warning : use_notes(stages, statistics, notes)) {
      if (!options.quiet) std::cerr << "relucent: note: " << warning << "\n";
    }
  }
  return [rescorer, stages = std::move(stages)](const index_tools::RerankQuery& query, const StopSignal& stop) {
    return rescore_candidates(rescorer, stages, query.text, index_tools::scorer_candidates(query), stop);
  };
}

StudyReport scores(const Experiment& experiment, const ExperimentOptions& options, const InterruptStop& interrupt) {
  refuse_if(options.fresh, "--fresh", "has no effect: scores do not change, and the experiment has no [costs]",
            "remove it; to compute the scores again, choose another --cache");
  index_tools::ExperimentRun how;
  how.cache = experiment_cache(options.cache);
  how.topics = static_cast<std::size_t>(options.topics);
  how.threads = options.threads;
  how.runs = options.runs;
  how.search = search;
  how.with_graphs = [&](const ExperimentTask& task, const std::filesystem::path& index,
                        const SecondStageConfig& rescorer, std::vector<RescoringStage> stages) {
    return with_graphs(task, index, rescorer, std::move(stages), options, interrupt);
  };
  how.stop = interrupt.token();
  std::optional<index_tools::Progress> progress;
  how.begin = [&](std::int64_t bytes) {
    progress.emplace("scoring", index_tools::Progress::Unit::bytes, bytes, options.quiet);
  };
  how.update = [&](std::int64_t candidates, std::int64_t bytes) { progress->update(candidates, bytes); };
  how.note = [&](const std::string& note) {
    if (!options.quiet) std::cerr << "relucent: note: " << note << "\n";
  };
  return index_tools::run_experiment(experiment, how);
}

StudyReport costs(const Experiment& experiment, const ExperimentOptions& options, const InterruptStop& interrupt) {
  benchmarks::CostStudy study;
  study.threads = options.threads;
  study.peers = options.peers;
  study.cache = experiment_cache(options.cache);
  study.fresh = options.fresh;
  study.quiet = options.quiet;
  study.stop = interrupt.token();
  return benchmarks::measure_costs(experiment, study);
}

void refuse_what_has_no_effect(const Experiment& experiment, const ExperimentOptions& options) {
  const auto refuse = [](const char* flag, const char* why) {
    throw Error(ErrorKind::usage, flag, std::string("has no effect: ") + why, "remove it");
  };
  if (experiment.costs) {
    if (options.topics > 0) refuse("--topics", "[costs] measures generated texts");
    if (!options.runs.empty()) refuse("--runs", "[costs] ranks nothing");
  } else if (!options.peers.empty()) {
    refuse("--peers", "the experiment has no [costs]");
  }
  if (!options.plot.empty()) index_tools::require_plot(experiment);
}

Metadata metadata_of(const Experiment& experiment) {
  Metadata measures = Metadata::array(), collections = Metadata::array(), rows = Metadata::array();
  for (const index_tools::Measure& measure : experiment.measures) measures.push_back(measure.name);
  for (const ExperimentTask& task : experiment.tasks) {
    Metadata collection{{"name", task.name}, {"qrels", task.qrels.string()}};
    if (task.index.empty()) {
      collection["candidates"] = task.candidates.string();
    } else {
      collection["topics"] = task.topics.string();
      collection["index"] = task.index.string();
      collection["first stage"] = first_stage_metadata(task.first_stage);
    }
    collections.push_back(collection);
  }
  for (const index_tools::ExperimentRow& row : experiment.rows) {
    Metadata entry{{"name", row.name}};
    if (row.kind == index_tools::ExperimentRow::Kind::model) {
      entry["method"] = row.model.empty() ? "the bundled checkpoint" : row.model;
      entry["window"] = row.rescorer.window;
    }
    rows.push_back(entry);
  }
  Metadata evaluation{{"reported measures", measures}};
  if (!experiment.reference.empty()) {
    evaluation["baseline"] = Metadata::array({experiment.reference});
    evaluation["significance test"] =
        Metadata::array({Metadata{{"name", "t-test"}, {"correction method", to_string(experiment.correction)}}});
  }
  Metadata goal{{"title", experiment.title}, {"evaluation", evaluation}};
  if (!experiment.source.empty()) goal["published in"] = experiment.source;
  return {{"research goal", goal},
          {"data", {{"test collections", collections}}},
          {"method", {{"automatic", true}, {"retrieval", rows}}}};
}

int run(const ExperimentOptions& options) {
  const Experiment experiment = index_tools::load_experiment(options.file, options.data);
  refuse_what_has_no_effect(experiment, options);
  MetadataFile metadata(options.metadata);
  const InterruptStop interrupt;
  StudyReport report =
      experiment.costs ? costs(experiment, options, interrupt) : scores(experiment, options, interrupt);
  if (options.quiet && options.format == "table") report.notes.clear();  // in the other formats they are data
  write_result(options.output, formatted_study(report, options.format));
  if (!options.plot.empty()) {
    const std::string what =
        experiment.costs ? "time and memory by length"
                         : report.tables.front().measure + (experiment.times ? " and ms" : "") + " by attention window";
    write_plot(options.plot, index_tools::study_plot(experiment, report), what, options.quiet);
  }
  metadata.write(metadata_of(experiment));
  return ok;
}

int check(const ExperimentOptions& options) {
  const Experiment experiment = index_tools::load_experiment(options.file, options.data);
  std::size_t missing = 0, replaced = 0;
  for (const ExperimentPart& part : index_tools::parts_of(experiment)) {
    if (!part.present) ++(part.replaced ? replaced : missing);
    std::cout << index_tools::describe(part) << "\n";
  }
  std::cout << fmt::format("{}: rows: {}, columns: {}, missing files and folders: {}{}\n", options.file,
                           experiment.rows.size(), experiment.columns().size(), missing,
                           replaced > 0 ? fmt::format(", replaced: {}", replaced) : "");
  return missing > 0 ? degraded : ok;
}

void add_file_flags(CLI::App& command, ExperimentOptions& options) {
  command.add_option("FILE", options.file, "The experiment (TOML); config/experiments has some")->required();
  add_value(command, "--data DIR", options.data, "Folder of its relative paths (default: the file's own `data`)");
}

}  // namespace

void add_experiment(CLI::App& program, Action& chosen) {
  CLI::App* group = program.add_subcommand("experiment", "Repeat or make a study: models and settings over topics");
  group->require_subcommand(1);
  const std::string examples =
      "Example:\n"
      "  relucent experiment check config/experiments/dl2021-windows.toml --data DIR\n"
      "  relucent experiment run config/experiments/dl2021-windows.toml --data DIR --format latex --output table.tex";
  group->footer(examples);
  auto options = std::make_shared<ExperimentOptions>();

  CLI::App* run_command = group->add_subcommand("run", "Compute what is not in the cache, evaluate it, print a table");
  add_file_flags(*run_command, *options);
  add_value(*run_command, "--cache DIR", options->cache,
            "Folder of computed results (default: in the user's cache directory)");
  run_command->add_flag("--fresh", options->fresh, "With [costs]: measure everything again, also what is in the cache");
  add_choice(*run_command, "--format", options->format, {"table", "csv", "json", "latex", "markdown"},
             "table, csv, json (both with all digits and p-values), latex, markdown");
  add_default(*run_command, "--output FILE", options->output, "File of the table; \"-\": standard output");
  add_value(*run_command, "--plot FILE.svg", options->plot,
            "Draw the first measure, and ms if it is one, by attention window, or time and memory by length, as SVG");
  add_value(*run_command, "--peers FILE", options->peers,
            "With [costs]: add the contenders of a table that tests/benchmarks printed");
  add_value(*run_command, "--runs DIR", options->runs, "Also write a TREC run per row and task into this folder");
  add_metadata_flag(*run_command, options->metadata);
  add_value(*run_command, "--topics N", options->topics,
            "Only the first N judged topics of each task, to try an experiment out")
      ->check(CLI::PositiveNumber);
  add_value(*run_command, "--threads N", options->threads, "Model threads (default: the experiment's)")
      ->check(CLI::Range(1, kMaxThreads));
  run_command->add_flag("--quiet", options->quiet,
                        "Do not show progress, nor notes; in csv, json and latex notes are data and stay");
  run_command->footer(
      "An interrupted run resumes where it was; a changed model, candidate or setting is computed again.\n\n" +
      examples);
  on_selection(*run_command, chosen, [options] { return run(*options); });

  CLI::App* check_command = group->add_subcommand("check",
                                                  "List what is present, what is missing and where to get it; compute "
                                                  "nothing. Exit code 4 if something is missing");
  add_file_flags(*check_command, *options);
  check_command->footer(examples);
  on_selection(*check_command, chosen, [options] { return check(*options); });
}

}  // namespace relucent::program
