#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/updater.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"

namespace relucent::program {
namespace {

using index_tools::DeleteSummary;

constexpr std::size_t kShownIds = 5;

struct DeleteOptions {
  std::string index, input;
  std::vector<std::string> ids;
  bool json = false;
};

void print_deletion_json(const DeleteOptions& options, const DeleteSummary& summary) {
  const nlohmann::json result = {{"index", options.index},     {"deleted", summary.documents},
                                 {"documents", summary.left},  {"unknown_ids", summary.unknown_ids},
                                 {"unknown", summary.unknown}, {"recovered", summary.recovered}};
  std::cout << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print(const DeleteOptions& options, const DeleteSummary& summary) {
  std::cout << fmt::format("Deleted {} {} from {}, which has {} left\n", index_tools::with_commas(summary.documents),
                           summary.documents == 1 ? "document" : "documents", options.index,
                           index_tools::with_commas(summary.left));
  if (summary.unknown_ids == 0) return;
  const std::size_t shown = std::min(summary.unknown.size(), kShownIds);
  std::cout << fmt::format("  {} {} in the index: {}{}\n", index_tools::with_commas(summary.unknown_ids),
                           summary.unknown_ids == 1 ? "id is not" : "ids are not",
                           join(std::span(summary.unknown).first(shown)),
                           static_cast<std::int64_t>(shown) < summary.unknown_ids ? ", ..." : "");
}

int run(DeleteOptions& options) {
  refuse_if(options.ids.empty() && options.input.empty(), "delete", "there is nothing to delete",
            "pass ids, or --input FILE with one per line");
  if (!options.input.empty()) {
    index_tools::for_each_line(options.input, [&](const std::string& line, std::int64_t) {
      if (!line.empty()) options.ids.push_back(line);
    });
  }
  const DeleteSummary summary = index_tools::delete_documents(options.index, options.ids);
  if (!summary.recovered.empty()) {
    std::cerr << "relucent: warning: the last commit was incomplete (" << summary.recovered
              << "); deleted from the previous one\n";
  }
  options.json ? print_deletion_json(options, summary) : print(options, summary);
  return ok;
}

}  // namespace

void add_delete(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("delete", "Delete documents from an index by their ids");
  auto options = std::make_shared<DeleteOptions>();
  add_value(*command, "--index DIR", options->index, "Index directory")->required();
  command->add_option("id", options->ids, "Ids of the documents")->type_name("ID");
  add_value(*command, "--input FILE", options->input,
            "File with one id per line, compressed or not; \"-\": standard input");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "All of them are deleted in one commit, or none. Ids that are not in the index are counted and shown.\n\n"
      "Example:\n"
      "  relucent delete --index my.index d17 d18\n"
      "  relucent delete --index my.index --input withdrawn.txt\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
