#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "index_tools/indexing/interrupt.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/snapshot.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"

namespace relucent::program {
namespace {

using index_tools::SnapshotJob;
using index_tools::SnapshotSummary;

struct SnapshotOptions {
  SnapshotJob job;
  bool json = false;
};

void print_snapshot_json(const SnapshotJob& job, const SnapshotSummary& summary) {
  const nlohmann::json result = {{"index", job.index.string()},     {"output", job.output.string()},
                                 {"commit", summary.commit},        {"documents", summary.documents},
                                 {"files", summary.files},          {"linked", summary.linked},
                                 {"bytes", summary.bytes},          {"copied_bytes", summary.copied_bytes},
                                 {"skipped_commit", summary.damage}};
  std::cout << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

void print(const SnapshotJob& job, const SnapshotSummary& summary) {
  std::cout << fmt::format("Copied {} of {} to {}\n  {} documents, {} files, {}; {} are links, {} were copied\n",
                           summary.commit, job.index.string(), job.output.string(),
                           index_tools::with_commas(summary.documents), summary.files,
                           format_bytes(static_cast<std::uint64_t>(summary.bytes)), summary.linked,
                           format_bytes(static_cast<std::uint64_t>(summary.copied_bytes)));
}

int run(SnapshotOptions& options) {
  const SnapshotSummary summary = [&] {
    const index_tools::InterruptGuard guard;
    options.job.interrupted = index_tools::InterruptGuard::interrupted;
    return index_tools::snapshot_index(options.job);
  }();
  if (!summary.damage.empty()) {
    std::cerr << "relucent: warning: the last commit is incomplete (" << summary.damage
              << "); copied the previous commit\n";
  }
  options.json ? print_snapshot_json(options.job, summary) : print(options.job, summary);
  return ok;
}

}  // namespace

void add_snapshot(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("snapshot", "Copy an index while it is searched and written");
  auto options = std::make_shared<SnapshotOptions>();
  add_value(*command, "--index DIR", options->job.index, "Index directory")->required();
  add_value(*command, "--output DIR", options->job.output, "Directory to create; it must not exist")->required();
  command->add_flag("--copy", options->job.copy, "Copy every file (default: make hard links where the system can)");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "The copy has one commit of the index and all that belongs to it: segments, embeddings, graphs. Hard links take "
      "no\nspace and no time, but share the bytes with the index: for a copy on another disk, name one there.\n\n"
      "Example:\n"
      "  relucent snapshot --index my.index --output backup.index\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
