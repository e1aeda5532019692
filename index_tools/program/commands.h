#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "relucent/error.h"

namespace relucent::program {

/// Exit codes of the program.
enum ExitCode : int { ok = 0, failed = 1, bad_usage = 2, bad_data = 3, degraded = 4, interrupted = 130 };

int exit_code(ErrorKind kind);

/// Runs the chosen subcommand after parsing; returns an exit code or throws relucent::Error.
using Action = std::function<int()>;

/// Sets `chosen` to the action if the command line selects `command`.
inline void on_selection(CLI::App& command, Action& chosen, const Action& action) {
  command.callback([&chosen, action] { chosen = action; });
}

/// Throws Error `usage` about a flag or an argument if it is `wrong`.
inline void refuse_if(bool wrong, const std::string& flag, const std::string& problem, const std::string& remedy) {
  if (wrong) throw Error(ErrorKind::usage, flag, problem, remedy);
}

/// Each adds its subcommand to `program`, which sets `chosen` if the command line selects it.
void add_index(CLI::App& program, Action& chosen);
void add_delete(CLI::App& program, Action& chosen);
void add_snapshot(CLI::App& program, Action& chosen);
void add_encode(CLI::App& program, Action& chosen);
void add_graphs(CLI::App& program, Action& chosen);
void add_verify(CLI::App& program, Action& chosen);
void add_search(CLI::App& program, Action& chosen);
void add_doc(CLI::App& program, Action& chosen);
void add_rerank(CLI::App& program, Action& chosen);
void add_classify(CLI::App& program, Action& chosen);
void add_serve(CLI::App& program, Action& chosen);
void add_evaluate(CLI::App& program, Action& chosen);
void add_experiment(CLI::App& program, Action& chosen);
void add_dialogues(CLI::App& program, Action& chosen);
void add_topics(CLI::App& program, Action& chosen);
void add_qrels(CLI::App& program, Action& chosen);
void add_run(CLI::App& program, Action& chosen);
void add_model(CLI::App& program, Action& chosen);
void add_config(CLI::App& program, Action& chosen);
void add_bench(CLI::App& program, Action& chosen);
void add_completion(CLI::App& program, Action& chosen);

/// The subcommands of `model` and `run` that have a source of their own.
void add_model_compare(CLI::App& model, Action& chosen);
void add_model_fetch(CLI::App& model, Action& chosen);
void add_model_init(CLI::App& model, Action& chosen);
void add_run_fuse(CLI::App& run, Action& chosen);

}  // namespace relucent::program
