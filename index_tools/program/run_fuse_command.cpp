#include <cstdint>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "index_tools/evaluation/fusion.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/text_output.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

using index_tools::FusionMethod;
using index_tools::FusionOptions;
using index_tools::RunFormat;

struct FuseOptions {
  std::vector<std::string> files;
  std::string method = "rrf", normalization = "min-max", order = "score", output = "-", format, tag;
  FusionOptions fusion;
};

// Warns about queries that are missing from some runs.
void note_missing_queries(const std::vector<index_tools::Run>& runs, const FuseOptions& options) {
  std::set<std::string> all;
  for (const index_tools::Run& run : runs) all.insert(run.query_order.begin(), run.query_order.end());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::vector<std::string> missing;
    for (const std::string& query : all) {
      if (!runs[r].queries.contains(query)) missing.push_back(query);
    }
    if (missing.empty()) continue;
    std::cerr << "relucent: note: " << options.files[r] << ": "
              << query_list(missing, "queries of the other runs are missing") << "\n";
  }
}

int fuse(FuseOptions options) {
  options.fusion.method = index_tools::parse_fusion_method(options.method);
  options.fusion.normalization = index_tools::parse_score_normalization(options.normalization);
  options.fusion.order = options.order == "rank" ? index_tools::RunOrder::rank : index_tools::RunOrder::score;
  if (options.files.size() < 2)
    throw Error(ErrorKind::usage, "FILE", "one run cannot be fused", "pass two or more runs");
  const RunFormat format = options.format.empty() && options.output == "-"
                               ? RunFormat::trec
                               : index_tools::run_formats().chosen(options.format, options.output);
  std::vector<index_tools::Run> runs;
  for (const std::string& file : options.files) runs.push_back(index_tools::read_run(file));
  const std::vector<index_tools::RankedQuery> queries = index_tools::fuse(runs, options.fusion);
  const std::string tag = options.tag.empty() ? options.method : options.tag;
  write_result(options.output, index_tools::format_run_as(format, queries, tag));
  std::cout.flush();
  std::int64_t hits = 0;
  for (const auto& query : queries) hits += static_cast<std::int64_t>(query.hits.size());
  std::cerr << index_tools::with_commas(hits) << " hits of " << index_tools::with_commas(queries.size())
            << " queries from " << runs.size() << " runs\n";
  note_missing_queries(runs, options);
  return ok;
}

}  // namespace

void add_run_fuse(CLI::App& run, Action& chosen) {
  CLI::App* command = run.add_subcommand("fuse", "Fuse several runs into one, by rank or by score");
  auto options = std::make_shared<FuseOptions>();
  command->add_option("FILE", options->files, "Runs: TREC, MS MARCO or JSON lines")->required();
  add_choice(*command, "--method", options->method, {"rrf", "sum"},
             "rrf: the sum of 1 / (k + rank); sum: the sum of the normalized scores");
  add_default(*command, "--k NUMBER", options->fusion.k, "rrf: the larger k is, the less the first ranks stand out");
  add_list(*command, "--weights NUMBERS", options->fusion.weights,
           "One factor per run, separated by commas (default: 1 each)");
  add_choice(*command, "--normalize", options->normalization, {"min-max", "max", "sum", "z-score", "rank", "none"},
             "sum: how each query's scores are made comparable: min-max, max, sum, z-score, rank or none");
  add_choice(*command, "--order", options->order, {"score", "rank"},
             "What ranks a run's hits: score (and docno, as in trec_eval) or rank");
  add_value(*command, "--depth N", options->fusion.depth, "Use the best N hits per run and query (default: all)")
      ->check(CLI::PositiveNumber);
  add_value(*command, "--hits N", options->fusion.hits, "Keep the best N hits per query (default: all)")
      ->check(CLI::PositiveNumber);
  add_default(*command, "--output FILE", options->output,
              "New file; .run, .trec, .tsv (MS MARCO), .jsonl set the format, .gz after it compresses; \"-\": "
              "standard output, as TREC");
  add_value(*command, "--to FORMAT", options->format, "trec | msmarco | jsonl (default: by the file name)");
  add_value(*command, "--tag NAME", options->tag, "Run tag, the last column (default: the method)");
  command->footer(
      "A run that lacks a document or a query adds nothing to it.\n\n"
      "Example:\n"
      "  relucent run fuse bm25.run model.run --output fused.run\n"
      "  relucent run fuse bm25.run model.run --method sum --weights 0.3,0.7 --hits 1000 --output fused.run");
  on_selection(*command, chosen, [options] { return fuse(*options); });
}

}  // namespace relucent::program
