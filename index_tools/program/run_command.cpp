#include <fmt/core.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/evaluation/qrels.h"
#include "index_tools/evaluation/run_formats.h"
#include "index_tools/evaluation/topics.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/text_output.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

using index_tools::RunCheck;
using index_tools::RunFormat;
using index_tools::with_commas;

struct RunOptions {
  std::string from, to = "-", format, order = "score", tag, topics, qrels;
  std::vector<std::string> files;
  std::size_t hits = 0;
  bool strict = false;
};

std::set<std::string> expected_queries(const RunOptions& options) {
  std::set<std::string> ids;
  if (!options.topics.empty()) {
    for (const auto& topic : index_tools::read_topics(options.topics)) ids.insert(topic.id);
  }
  if (!options.qrels.empty()) {
    for (const auto& [query, judgments] : index_tools::read_qrels(options.qrels)) ids.insert(query);
  }
  return ids;
}

std::vector<std::string> remarks_on(const index_tools::Run& run, const RunCheck& check,
                                    const std::set<std::string>& expected) {
  std::vector<std::string> remarks;
  if (run.other_tags > 0)
    remarks.push_back(fmt::format("{} lines have a tag other than \"{}\"", with_commas(run.other_tags), run.tag));
  if (check.ties_as_float > 0) {
    const bool fewer = check.ties_as_double < check.ties_as_float;
    remarks.push_back(
        fmt::format("{} neighbouring hits have equal scores as 32-bit floats{}: their docnos decide the order",
                    with_commas(check.ties_as_float),
                    fewer ? fmt::format(", {} as doubles", with_commas(check.ties_as_double)) : ""));
  }
  if (check.queries_ranked_otherwise > 0) {
    remarks.push_back(with_commas(check.queries_ranked_otherwise) +
                      " queries have ranks that contradict their scores, and trec_eval sorts by the "
                      "scores");
  }
  if (expected.empty()) return remarks;
  std::vector<std::string> missing, unknown;
  for (const std::string& id : expected) {
    if (!run.queries.contains(id)) missing.push_back(id);
  }
  for (const auto& [id, hits] : run.queries) {
    if (!expected.contains(id)) unknown.push_back(id);
  }
  if (!missing.empty()) remarks.push_back(query_list(missing, "queries are missing"));
  if (!unknown.empty()) remarks.push_back(query_list(unknown, "queries are not expected"));
  return remarks;
}

int check(const RunOptions& options) {
  const std::set<std::string> expected = expected_queries(options);
  std::size_t all_remarks = 0;
  for (const std::string& file : options.files) {
    const index_tools::Run run = index_tools::read_run(file);
    const RunCheck found = index_tools::check_run(run);
    std::cout << index_tools::input_name(file) << ": " << index_tools::to_string(run.format) << ", "
              << with_commas(found.hits) << " hits of " << with_commas(found.queries) << " queries, "
              << with_commas(found.fewest) << (found.most > found.fewest ? " to " + with_commas(found.most) : "")
              << " per query" << (run.tag.empty() ? "" : fmt::format(", tag \"{}\"", run.tag)) << "\n";
    const std::vector<std::string> remarks = remarks_on(run, found, expected);
    for (const std::string& remark : remarks) std::cout << "  note: " << remark << "\n";
    all_remarks += remarks.size();
  }
  return options.strict && all_remarks > 0 ? bad_data : ok;
}

int convert(const RunOptions& options) {
  const RunFormat format = index_tools::run_formats().chosen(options.format, options.to);
  const index_tools::Run run = index_tools::read_run(options.from);
  const std::string tag = !options.tag.empty() ? options.tag : run.tag.empty() ? "run" : run.tag;
  const auto order = options.order == "rank" ? index_tools::RunOrder::rank : index_tools::RunOrder::score;
  const auto queries = index_tools::ranked_queries(run, order, options.hits);
  write_result(options.to, index_tools::format_run_as(format, queries, tag));
  std::cout.flush();
  std::size_t hits = 0;
  for (const auto& query : queries) hits += query.hits.size();
  std::cerr << with_commas(hits) << " hits of " << with_commas(queries.size())
            << " queries: " << index_tools::to_string(run.format) << " -> " << index_tools::to_string(format) << "\n";
  if (const std::size_t ties = index_tools::check_run(run).ties_as_float; ties > 0) {
    std::cerr << with_commas(ties) << " ties between neighbouring hits were broken by "
              << (order == index_tools::RunOrder::rank ? "rank" : "docno, as in trec_eval") << "\n";
  }
  return ok;
}

}  // namespace

void add_run(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("run", "Check runs, convert one to another format, or fuse several");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  relucent run check bm25.run --topics topics.tsv\n  relucent run convert bm25.run "
      "bm25.tsv\n  relucent run fuse bm25.run model.run --output fused.run");
  auto options = std::make_shared<RunOptions>();

  CLI::App* check_command = command->add_subcommand("check", "Read runs and report anomalies");
  check_command->add_option("FILE", options->files, "Runs: TREC, MS MARCO or JSON lines")->required();
  add_value(*check_command, "--topics FILE", options->topics,
            "Report topics that a run lacks and queries that are not topics");
  add_value(*check_command, "--qrels FILE", options->qrels, "The same for the queries of these judgments");
  check_command->add_flag("--strict", options->strict, "Exit with code 3 if there is anything to note");
  check_command->footer("Example:\n  relucent run check bm25.run model.run --topics topics.tsv");
  on_selection(*check_command, chosen, [options] { return check(*options); });

  CLI::App* convert_command =
      command->add_subcommand("convert", "Write a run in another format, or in the same one with its ties broken");
  convert_command->add_option("FROM", options->from, "Run: TREC, MS MARCO or JSON lines")->required();
  convert_command->add_option("TO", options->to,
                              "New file; .run, .trec, .tsv (MS MARCO), .jsonl set the format, .gz after it compresses; "
                              "\"-\" (default): standard output");
  add_value(*convert_command, "--to FORMAT", options->format, "trec | msmarco | jsonl (default: by the file name)");
  add_choice(*convert_command, "--order", options->order, {"score", "rank"},
             "What decides the order: score (and docno, as in trec_eval) or rank");
  add_value(*convert_command, "--hits N", options->hits, "Keep the best N hits per query")->check(CLI::PositiveNumber);
  add_value(*convert_command, "--tag NAME", options->tag, "Run tag, the last column (default: the one it has)");
  convert_command->footer(
      "Scores are made to differ as 32-bit floats, so that every version of trec_eval reads the same "
      "order.\n\n"
      "Example:\n"
      "  relucent run convert bm25.run bm25.tsv --hits 100\n"
      "  relucent run convert official.run untied.run --order rank");
  on_selection(*convert_command, chosen, [options] { return convert(*options); });

  add_run_fuse(*command, chosen);
}

}  // namespace relucent::program
