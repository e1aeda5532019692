#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "index_tools/indexing/progress.h"
#include "index_tools/indexing/verify.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/interrupt_stop.h"
#include "index_tools/program/profile.h"
#include "relucent/config.h"

namespace relucent::program {
namespace {

using index_tools::VerifyJob;
using index_tools::VerifyReport;

struct VerifyOptions {
  VerifyJob job;
  std::string config;
  bool json = false;
};

void print_json(const VerifyJob& job, const VerifyReport& report) {
  nlohmann::json checks = nlohmann::json::array();
  for (const auto& check : report.checks) {
    checks.push_back({{"name", check.name}, {"status", to_string(check.status)}, {"detail", check.detail}});
  }
  const nlohmann::json result = {{"index", job.index.string()},   {"sound", report.sound()},
                                 {"matches", report.matches()},   {"corpus", report.corpus},
                                 {"documents", report.documents}, {"checks", checks}};
  std::cout << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

std::string verdict(const VerifyJob& job, const VerifyReport& report) {
  if (const auto records = report.damaged_records(); !records.empty()) {
    return fmt::format("the index is sound, but not its {}: run {}",
                       join(records, " and its ", [](const auto& one) { return one.first; }),
                       join(records, " and ", [](const auto& one) { return fmt::format("`{}`", one.second); }));
  }
  if (!report.sound()) {
    return fmt::format("the index is damaged: restore it from a copy, or rebuild it with {}",
                       report.own ? "--overwrite" : "the program that wrote it");
  }
  return report.matches() ? "the index is sound" : "the index is sound, but does not hold the whole of " + job.corpus;
}

void print(const VerifyJob& job, const VerifyReport& report) {
  for (const auto& check : report.checks) {
    std::cout << fmt::format("{:<8} {:<11} {}\n", to_string(check.status), check.name, check.detail);
  }
  std::cout << job.index.string() << ": " << verdict(job, report) << "\n";
}

int run(VerifyOptions& options) {
  if (!options.config.empty()) {
    const Config config = load_profile_file(options.config);
    options.job.fields = config.index;
    options.job.first_stage = config.first_stage;
    options.job.model = config.rescorer.model;
  }
  exit_when_interrupted();  // verifying leaves nothing behind
  const VerifyReport report = verify_index(options.job);
  if (options.json) {
    print_json(options.job, report);
  } else {
    print(options.job, report);
  }
  return report.matches() ? ok : bad_data;
}

}  // namespace

void add_verify(CLI::App& program, Action& chosen) {
  auto* command = program.add_subcommand("verify", "Check that an index is whole and undamaged");
  auto options = std::make_shared<VerifyOptions>();
  add_value(*command, "--index DIR", options->job.index, "Index directory")->required();
  add_value(*command, "--corpus ID", options->job.corpus, "Require that the index holds the whole of this corpus");
  add_value(*command, "--config FILE", options->config,
            "Profile with the field names of an index made by another program");
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->add_flag("--quiet", options->job.quiet, "Do not show progress");
  command->footer(
      "Exits with 0 if the index is sound, and with 3 if it or what is stored next to it is damaged, or if it does "
      "not\n"
      "hold the whole of --corpus.\n\n"
      "Example:\n"
      "  relucent verify --index vaswani.index --corpus vaswani\n");
  on_selection(*command, chosen, [options] { return run(*options); });
}

}  // namespace relucent::program
