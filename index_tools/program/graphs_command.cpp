#include <fmt/core.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "index_tools/indexing/graph_pass.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/graph_export.h"
#include "index_tools/program/graph_note_flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "relucent/error.h"
#include "relucent/model/mix_encoder.h"
#include "relucent/threads.h"
#include "relucent/times.h"

namespace relucent::program {
namespace {

using index_tools::GraphJob;
using index_tools::GraphSummary;
using index_tools::with_commas;

struct GraphsOptions {
  GraphJob job;
  GraphNoteFlags notes;
  std::string config, model, input, output;
  bool json = false;
};

/// The MIR among the profile's stages.
std::string model_of(const GraphsOptions& options, const Config& config) {
  if (!options.model.empty()) return options.model;
  for (const StageConfig& stage : config.rescorer.effective_stages()) {
    if (!stage.model.empty() && checkpoint_model_type(stage.model) == "mir") return stage.model;
  }
  throw Error(ErrorKind::usage, "--model", "is missing",
              "name the MIR that the graphs are for with --model, or a profile that has one with --config");
}

/// Makes graphs of documents that are not in the index.
int run_export(const GraphsOptions& options, const StopSignal& stop) {
  const GraphJob& job = options.job;
  const auto refuse = [](const char* flag, bool given) {
    refuse_if(given, flag, "has no effect with --input", "remove it");
  };
  refuse("--rebuild", job.rebuild);
  refuse("--json", options.json);
  const std::int64_t made = export_graphs(job, options.input, options.output, stop);
  if (!job.quiet) std::cerr << fmt::format("{} has the graphs of {} documents\n", options.output, with_commas(made));
  return ok;
}

double bytes_per_document(const GraphSummary& summary) {
  const double bytes = static_cast<double>(summary.bytes);
  return summary.documents > 0 ? std::round(10 * bytes / static_cast<double>(summary.documents)) / 10 : 0;
}

nlohmann::json to_json(const GraphJob& job, const GraphSummary& summary) {
  return {{"index", job.index.string()},
          {"model", job.config.rescorer.model},
          {"documents", summary.documents},
          {"made", summary.made},
          {"continued", summary.continued},
          {"kept", summary.kept},
          {"without_text", summary.without_text},
          {"with_weights", summary.with_weights},
          {"bytes", summary.bytes},
          {"bytes_per_document", bytes_per_document(summary)},
          {"earlier_statistics", summary.earlier_statistics},
          {"replaced", summary.replaced},
          {"removed", summary.removed},
          {"seconds", in_milliseconds(summary.time) / 1000}};
}

void print(const GraphJob& job, const GraphSummary& summary) {
  const double seconds = in_milliseconds(summary.time) / 1000;
  std::cout << fmt::format("{} has the graphs of {} documents for {}\n", job.index.string(),
                           with_commas(summary.documents), job.config.rescorer.model);
  std::cout << fmt::format(
      "  {} made in {:.1f} s{}{}\n", with_commas(summary.made), seconds,
      summary.continued > 0 ? fmt::format(", after {} of an interrupted run", with_commas(summary.continued)) : "",
      summary.kept > 0 ? fmt::format(", {} were there", with_commas(summary.kept)) : "");
  std::cout << fmt::format("  {}, {} bytes per document\n", format_bytes(static_cast<std::uint64_t>(summary.bytes)),
                           bytes_per_document(summary));
  if (summary.without_text > 0) {
    std::cout << fmt::format("  {} documents without text\n", with_commas(summary.without_text));
  }
  if (job.notes.weights != index_tools::GraphNotesJob::Weights::tfidf) {
    std::cout << fmt::format("  {} documents with weights of their own; tf * idf for the others\n",
                             with_commas(summary.with_weights));
  }
  for (const std::string& one : summary.replaced) std::cout << "  replaced " << one << "\n";
  for (const std::string& one : summary.removed) std::cout << "  removed " << one << ", whose segment is gone\n";
  if (summary.earlier_statistics > 0) {
    std::cout << fmt::format(
        "  {} segments keep graphs made with earlier statistics of the index; --rebuild makes them again\n",
        summary.earlier_statistics);
  }
}

int run(GraphsOptions& options) {
  GraphJob& job = options.job;
  job.config = load_profile_file(options.config);
  job.config.rescorer.model = model_of(options, job.config);
  job.notes = options.notes.read();
  const InterruptStop interrupt;
  StopSignal stop;
  stop.stop = interrupt.token();
  if (!options.input.empty()) return run_export(options, stop);
  const GraphSummary summary = make_graphs(job, stop);
  if (options.json) {
    std::cout << to_json(job, summary).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    print(job, summary);
  }
  return ok;
}

}  // namespace

void add_graphs(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("graphs", "Make the graphs of an index's documents that a MIR needs");
  auto options = std::make_shared<GraphsOptions>();
  GraphJob& job = options->job;
  add_value(*command, "--index DIR", job.index, "Index directory")->required();
  add_value(*command, "--model DIR", options->model, "The MIR's checkpoint (default: the profile's)");
  add_value(*command, "--config FILE", options->config,
            "Profile that provides [index], [first_stage] and [rescorer] model");
  options->notes.add_to(*command);
  command->add_flag("--rebuild", job.rebuild,
                    "Also rebuild the graphs that were made with earlier statistics of the index");
  CLI::Option* const input =
      add_value(*command, "--input FILE", options->input,
                R"(Make graphs of these documents, JSON lines {"id", "text"}, not of the index's own)");
  add_value(*command, "--output FILE", options->output, "Write them as JSON lines: X.jsonl, X.jsonl.gz or -")
      ->needs(input);
  input->needs("--output");
  add_value(*command, "--threads N", job.threads, "0 (default): one per core that this process may use")
      ->check(CLI::Range(0, kMaxThreads));
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->add_flag("--quiet", job.quiet, "Do not show progress");
  command->footer(
      "Only what is missing is made: the same command continues after an interruption, and after documents were "
      "added.\n\n"
      "Example:\n"
      "  relucent graphs --index my.index --model my-mir\n"
      "  relucent graphs --index my.index --model my-mir --weights prf --topics queries.tsv\n"
      "  relucent graphs --index my.index --model my-mir --input documents.jsonl --output graphs.jsonl\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
