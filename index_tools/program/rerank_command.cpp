#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/output_file.h"
#include "index_tools/evaluation/rerank_input.h"
#include "index_tools/evaluation/rerank_output.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/graph_note_flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/ir_metadata.h"
#include "index_tools/program/profile.h"
#include "plugin/lucene/graphs/index_statistics.h"
#include "plugin/second_stage/graph_input.h"
#include "relucent/error.h"
#include "relucent/rescore_candidates.h"
#include "relucent/scorer.h"
#include "relucent/times.h"

namespace relucent::program {
namespace {

using index_tools::RerankedQuery;
using index_tools::RerankInput;
using index_tools::RerankQuery;

struct RerankOptions {
  std::string input, output, index, tag = "relucent", metadata;
  ProfileFlags profile;
  GraphNoteFlags notes;
  bool quiet = false;
};

struct Tally {
  std::size_t scored = 0, without_text = 0, truncated = 0, truncated_queries = 0;
  std::size_t degraded = 0, in_first_stage_order = 0;
  std::string reason;  // reason of the first degraded query
};

// In TIRA's sandbox these variables name the input and output folders.
std::string from_environment(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return value;
  }
  return {};
}

RerankOptions with_tiras_folders(RerankOptions options) {
  if (options.input.empty()) options.input = from_environment({"inputDataset", "TIRA_INPUT_DATASET"});
  if (options.output.empty()) {
    options.output = from_environment({"outputDir", "TIRA_OUTPUT_DIR"});
    if (!options.output.empty() && !options.output.ends_with('/')) options.output += '/';
  }
  refuse_if(options.input.empty(), "--input", "is missing", "pass --input FILE|DIR, or set inputDataset as TIRA does");
  refuse_if(options.output.empty(), "--output", "is missing", "pass --output FILE|DIR, or set outputDir as TIRA does");
  return options;
}

// As in TIRA, an output folder gets run.txt. A new name with an extension is a file, one without is a folder.
std::filesystem::path output_file(const RerankOptions& options) {
  const std::filesystem::path output = options.output;
  if (index_tools::named_descriptor(output, STDOUT_FILENO)) return output;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(output, ignored) || options.output.ends_with('/') ||
                      (!std::filesystem::exists(output, ignored) && !output.has_extension());
  return folder ? output / "run.txt" : output;
}

void create_folder_of(const std::filesystem::path& file, const RerankOptions& options) {
  if (file == options.output) return;
  std::error_code problem;
  std::filesystem::create_directories(file.parent_path(), problem);
  if (problem) {
    throw Error(ErrorKind::io, options.output, "cannot be created: " + problem.message(), "choose another directory");
  }
}

void count(const RescoredCandidates& rescored, Tally& tally) {
  const RescoreReport report = rescored.report();
  tally.without_text += report.without_text;
  tally.scored += report.rescored;
  tally.truncated += report.truncated;
  if (report.query_truncated) ++tally.truncated_queries;
  if (!report.degraded) return;
  if (tally.degraded++ == 0) tally.reason = report.reason;
  if (rescored.in_first_stage_order) ++tally.in_first_stage_order;
}

RerankedQuery rerank(std::span<const RescoringStage> stages, const RerankQuery& query, const SecondStageConfig& config,
                     const std::stop_token& stop, Tally& tally) {
  RescoredCandidates rescored =
      rescore_candidates(config, stages, query.text, index_tools::scorer_candidates(query), StopSignal{{}, stop});
  count(rescored, tally);
  return {rescored.last_logits(), std::move(rescored.order)};
}

std::string describe(std::span<const RescoringStage> stages) {
  return join(stages, ", then ", [](const RescoringStage& stage) { return stage.scorer->describe(); });
}

void summarize(const RerankInput& input, const std::string& dataset, const Tally& tally, std::chrono::nanoseconds time,
               const std::string& scorer, const std::filesystem::path& output) {
  std::fprintf(stderr, "Reranked %s candidates of %s queries%s in %.1f s (%.1f ms per query) with %s -> %s\n",
               index_tools::with_commas(tally.scored).c_str(), index_tools::with_commas(input.queries.size()).c_str(),
               dataset.empty() ? "" : (" of " + dataset).c_str(), in_milliseconds(time) / 1000,
               in_milliseconds(time) / static_cast<double>(input.queries.size()), scorer.c_str(), output.c_str());
  if (tally.without_text > 0) {
    std::fprintf(stderr, "%zu candidates without text are ranked below the others of their query\n",
                 tally.without_text);
  }
  if (tally.truncated > 0)
    std::fprintf(stderr, "%zu texts were truncated to the model's maximum length\n", tally.truncated);
  if (tally.truncated_queries > 0) {
    std::fprintf(stderr, "%zu queries were too long for the model, which did not read their ends\n",
                 tally.truncated_queries);
  }
}

void report_left_out(const std::vector<std::string>& problems) {
  constexpr std::size_t kMost = 10;
  for (const std::string& problem : std::span(problems).first(std::min(problems.size(), kMost))) {
    std::cerr << "relucent: error: " << problem << "\n";
  }
  if (problems.size() > kMost)
    std::cerr << "relucent: error: " << problems.size() - kMost << " more lines like these\n";
}

int run(const RerankOptions& asked) {
  const RerankOptions options = with_tiras_folders(asked);
  const Config config = load_profile(options.profile, true);
  refuse_if(!config.rescorer.enabled, options.profile.config,
            "[rescorer] enabled is false, so there is nothing to rerank with",
            "remove the key, or choose another profile");
  const bool folder = std::filesystem::is_directory(options.input);
  const std::filesystem::path input_file =
      folder ? index_tools::rerank_file_in(options.input) : std::filesystem::path(options.input);
  const std::string dataset = folder ? index_tools::dataset_id_in(options.input) : std::string();
  const std::filesystem::path output_name = output_file(options);
  const index_tools::RerankFormat format = index_tools::rerank_format(output_name);

  const InterruptStop interrupt;
  const RerankInput input = index_tools::read_rerank_input(input_file, format == index_tools::RerankFormat::jsonl,
                                                           index_tools::BadLines::leave_out);
  report_left_out(input.left_out);
  // Later stages combine with the scores of the stage before.
  const ScoreMode score_mode = config.rescorer.effective_stages().front().score_mode;
  if (score_mode != ScoreMode::replace && !input.all_scored) {
    throw Error(
        ErrorKind::invalid_data, index_tools::input_name(input_file),
        fmt::format("some records have no \"score\", which score_mode = \"{}\" requires", to_string(score_mode)),
        "add the first stage's scores, or use score_mode = \"replace\"");
  }
  // Opened before the long work, to fail early if it is not writable.
  create_folder_of(output_name, options);
  index_tools::OutputFile output(output_name);
  MetadataFile metadata(options.metadata);
  std::vector<RescoringStage> stages = make_stages(config.rescorer, make_scorers(config.rescorer));
  for (const RescoringStage& stage : stages) {
    if (const std::string warning = stage.scorer->warning(); !warning.empty()) {
      std::cerr << "relucent: note: " << warning << "\n";
    }
  }

  const bool needs_index = need_index(stages);
  refuse_if(needs_index && options.index.empty(), "--index",
            "is missing: a MIR needs statistics of the documents' words",
            "name the index that the candidates come from, or another one of the same kind of texts");
  if (!needs_index && !options.index.empty())
    throw Error(ErrorKind::usage, "--index", "has no effect: none of the models is a MIR", "remove it");
  refuse_if(!needs_index && options.notes.given(), "--weights and --entities",
            "have no effect: none of the models is a MIR", "remove them");
  const auto statistics = needs_index ? open_statistics(options.index, config) : nullptr;
  open_inputs(stages, statistics);
  if (needs_index) {
    const StopSignal stop{{}, interrupt.token()};
    const auto notes = options.notes.given()
                           ? index_tools::open_text_notes(options.notes.read(), options.index, config,
                                                          config.rescorer.threads, options.quiet, stop)
                           : nullptr;
    for (const std::string& warning : use_notes(stages, statistics, notes)) {
      std::cerr << "relucent: note: " << warning << "\n";
    }
  }

  const auto started = std::chrono::steady_clock::now();
  Tally tally;
  {
    index_tools::Progress progress("reranking", index_tools::Progress::Unit::documents,
                                   static_cast<std::int64_t>(input.candidates), options.quiet);
    std::int64_t done = 0;
    for (const RerankQuery& query : input.queries) {
      interrupt.throw_if_interrupted("reranking");
      const RerankedQuery result = rerank(stages, query, config.rescorer, interrupt.token(), tally);
      output.write(index_tools::format_reranked(format, query, result, options.tag));
      done += static_cast<std::int64_t>(query.candidates.size());
      progress.update(done, done);
    }
  }
  output.commit();
  metadata.write({{"tag", options.tag},
                  {"data",
                   {{"test collection", {{"name", dataset.empty() ? Metadata() : Metadata(dataset)}}},
                    {"candidates", index_tools::input_name(input_file)}}},
                  {"method",
                   {{"automatic", true},
                    {"retrieval", Metadata::array({rescorer_metadata(config.rescorer, describe(stages),
                                                                     "the candidates' first stage")})}}}});
  const std::chrono::nanoseconds time = time_since(started);
  if (!options.quiet) summarize(input, dataset, tally, time, describe(stages), output_name);
  if (!input.left_out.empty()) {
    std::cerr << "relucent: degraded: " << input.left_out.size() << " lines of " << index_tools::input_name(input_file)
              << " were left out\n";
  }
  if (tally.degraded == 0) return input.left_out.empty() ? ok : degraded;
  std::cerr << "relucent: degraded: " << tally.degraded << " of " << input.queries.size()
            << " queries were not answered as configured, " << tally.in_first_stage_order
            << " keep the first stage's order; first reason: " << tally.reason << "\n";
  return degraded;
}

}  // namespace

void add_rerank(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("rerank", "Rescore the candidates of a TIREx file");
  auto options = std::make_shared<RerankOptions>();
  add_value(*command, "--input FILE|DIR", options->input,
            "rerank.jsonl[.gz] (qid, query, docno, text, rank, score), a directory with one, or \"-\" for standard "
            "input (default: $inputDataset)");
  add_value(*command, "--output FILE|DIR", options->output,
            "X.tsv: qid, docno, logit; X.jsonl[.gz]: the input with new ranks and scores; other names with an "
            "extension, and \"-\" for standard output: a TREC run; a directory, created if missing, gets run.txt "
            "(default: $outputDir)");
  add_profile_flags(*command, options->profile);
  add_value(*command, "--index DIR", options->index,
            "For a MIR: the index whose statistics tell which words matter, usually that of the candidates");
  options->notes.add_to(*command, "For a MIR. ");
  add_default(*command, "--tag,--runtag", options->tag, "Run tag, the last column");
  add_metadata_flag(*command, options->metadata);
  command->add_flag("--quiet", options->quiet, "Do not show progress and a summary");
  command->footer(
      "Every candidate is rescored unless the profile or --window sets a limit. The profile's score_mode, weights and\n"
      "normalize fuse the model's scores with the input's.\n\n"
      "Example:\n"
      "  relucent rerank --input rerank.jsonl.gz --output model.run\n"
      "  relucent rerank --input rerank.jsonl.gz --output fused.run --config config/fusion.toml\n"
      "  relucent rerank --input $inputDataset --output $outputDir        # as a TIRA software");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
