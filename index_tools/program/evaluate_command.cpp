#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "index_tools/evaluation/difference_plot.h"
#include "index_tools/evaluation/measures.h"
#include "index_tools/evaluation/report.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/text_output.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

using index_tools::EvaluationOptions;
using index_tools::Measure;
using index_tools::Report;

struct EvaluateOptions {
  std::string qrels;
  std::vector<std::string> runs;
  std::vector<std::string> measures = {"nDCG@10,RR@10,MAP,P@10,R@100,Judged@10"};
  std::string scores = "float", format = "lines", plot;
  bool per_query = false, complete = false, compare = false, json = false, table = false;
};

std::string formatted(const Report& report, const EvaluateOptions& options) {
  const std::string format = options.json ? "json" : options.table ? "table" : options.format;
  if (format == "json") return format_json(report);
  if (format == "table") return format_table(report);
  if (format == "csv") return format_csv(report);
  if (format == "latex") return format_latex(report);
  return format_lines(report);
}

void require_two_runs(const EvaluateOptions& options, const char* flag) {
  if (options.runs.size() >= 2) return;
  throw Error(ErrorKind::usage, flag, "needs at least two runs", "list them after --run: --run A.run B.run");
}

// The first measure that is not a count: differences of counts are not worth plotting.
std::size_t plotted_measure(const std::vector<Measure>& measures) {
  const auto first =
      std::find_if(measures.begin(), measures.end(), [](const Measure& measure) { return !measure.is_count(); });
  if (first != measures.end()) return static_cast<std::size_t>(first - measures.begin());
  throw Error(ErrorKind::usage, "--plot", "cannot plot counts",
              "choose another measure, for example --measures nDCG@10");
}

int run(const EvaluateOptions& options) {
  Report report;
  std::string names;
  for (const std::string& some : options.measures) names += some + ",";
  report.measures = index_tools::parse_measures(names);
  report.per_query = options.per_query;
  if (options.compare) require_two_runs(options, "--compare");
  if (!options.plot.empty()) require_two_runs(options, "--plot");
  const std::size_t plotted = options.plot.empty() ? 0 : plotted_measure(report.measures);
  EvaluationOptions how;
  how.complete = options.complete;
  if (options.scores == "double") how.scores = index_tools::ScoreType::double_precision;

  const index_tools::Qrels qrels = index_tools::read_qrels(options.qrels);
  for (const std::string& file : options.runs) {
    const index_tools::Run run = index_tools::read_run(file);
    report.runs.push_back({file, run.tag, index_tools::evaluate(run, qrels, report.measures, how)});
    if (report.runs.back().evaluation.queries.empty() && !options.complete) {
      throw Error(ErrorKind::invalid_data, file,
                  fmt::format("has no query in common with {} (first query: \"{}\" here, \"{}\" there)", options.qrels,
                              run.queries.begin()->first, qrels.begin()->first),
                  "evaluate it with the judgments of its own topics");
    }
  }
  if (options.compare) report.comparisons = index_tools::compare_with_first(report.runs, report.measures);
  std::cout << formatted(report, options);
  if (!options.plot.empty()) {
    write_plot(options.plot, index_tools::difference_plot(report, plotted),
               fmt::format("{} of {} minus that of {}, query by query", report.measures[plotted].name, options.runs[0],
                           options.runs.size() == 2 ? options.runs[1] : "each of the others"));
  }
  return ok;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("evaluate", "Measure runs against judgments, as trec_eval does");
  auto options = std::make_shared<EvaluateOptions>();
  add_value(*command, "--qrels FILE", options->qrels,
            "Judgments: TREC, SMART (cranqrel), NPL, JSON lines or BEIR's TSV")
      ->required();
  add_value(*command, "--run FILE", options->runs, "Runs: TREC, MS MARCO or JSON lines")->required()->expected(1, -1);
  add_default(*command, "-m,--measures NAMES", options->measures,
              "Names separated by commas; -m may be repeated, as in trec_eval")
      ->allow_extra_args(false);
  command->add_flag("-q,--per-query", options->per_query, "Also print each query's values");
  command->add_flag("--compare", options->compare,
                    "Test the first run against each of the others: paired t-test, and TOST with bounds 0.02");
  command->add_flag("-c,--complete", options->complete,
                    "Average over all judged queries, counting missing ones as 0 (trec_eval -c)");
  add_choice(*command, "--scores", options->scores, {"float", "double"},
             "Compare scores as float (trec_eval up to 9.0.8) or double (later versions)");
  CLI::Option* format = add_choice(*command, "--format", options->format, {"lines", "table", "csv", "json", "latex"},
                                   "lines (trec_eval's), table, csv, json (both with all digits), latex (booktabs)");
  CLI::Option* table = command->add_flag("--table", options->table, "Same as --format table")->excludes(format);
  command->add_flag("--json", options->json, "Same as --format json")->excludes(format)->excludes(table);
  add_value(*command, "--plot FILE.svg", options->plot,
            "Draw the first measure's differences between the first run and each of the others, query by "
            "query, as SVG");
  command->footer(
      fmt::format("Measures: {}.\n\n{}\n", index_tools::measure_names(), index_tools::measure_meanings()) +
      "Grades are used as the judgments file states them: higher is better. Cranfield's readme "
      "calls grade 1 the\n"
      "best and 4 the worst, while ir_datasets reads them the other way round; here 4 also counts "
      "most in nDCG.\n\n"
      "Example:\n"
      "  relucent evaluate --qrels qrels.txt --run bm25.run --measures nDCG@10,RR@10\n"
      "  relucent evaluate --qrels qrels.txt --run bm25.run -m bpref -m \"RBP(p=0.95)\" -m \"P(rel=2)@10\"\n"
      "  relucent evaluate --qrels qrels.txt --run model.run bm25.run --compare --format latex\n"
      "  relucent evaluate --qrels qrels.txt --run model.run bm25.run --plot differences.svg");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
