#include "index_tools/program/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/text.h"
#include "index_tools/program/command_tree.h"
#include "index_tools/program/commands.h"
#include "relucent/error.h"
#include "relucent/version.h"

namespace relucent::program {
namespace {

// Boost.Filesystem, used by Lucene++, throws if the environment names a locale that is not installed; and file names
// and texts are UTF-8 whatever the locale.
void set_locale() {
  ::setenv("LC_ALL", "C.UTF-8", 1);
  std::setlocale(LC_ALL, "C.UTF-8");
  std::setlocale(LC_NUMERIC, "C");
}

int report(std::string_view message, int code) {
  std::cout.flush();
  std::cerr << "relucent: error: " << message << "\n";
  return code;
}

// Suggests the subcommand that was probably meant; empty if the first argument is a subcommand or a flag.
std::string unknown_command(const CLI::App& program, int argc, char** argv) {
  const auto commands = commands_of(program);
  if (commands.empty() || argc < 2 || argv[1][0] == '-') return {};
  const std::string given = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == given) return unknown_command(*command, argc - 1, argv + 1);
    names.push_back(command->get_name());
  }
  const std::string nearest = closest_name(given, names);
  return fmt::format(
      "unknown command \"{}\"; {}", given,
      nearest.empty() ? "the commands are " + join(names) : fmt::format("did you mean \"{}\"?", nearest));
}

// The first option that `command` does not know; empty if there is none.
std::string unknown_option(const CLI::App& command) {
  const std::vector<std::string> unknown = command.remaining();
  const auto found = std::find_if(unknown.begin(), unknown.end(),
                                  [](const std::string& word) { return word.size() > 2 && word.starts_with("--"); });
  return found == unknown.end() ? std::string() : found->substr(0, found->find('='));
}

std::string suggest_option(const std::string& given, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string nearest = closest_name(given, names);
  return fmt::format("unknown option {}{}", given, nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

// The command fails if its output did not arrive, for example because of a full disk behind a redirection.
int finish_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout.good()) return code;
  if (errno == EPIPE) return code;  // the reader has closed the pipe
  return report(fmt::format("standard output: cannot be written{}{}; free some space there", errno != 0 ? ": " : "",
                            errno != 0 ? std::strerror(errno) : ""),
                failed);
}

int parse_and_run(int argc, char** argv) {
  CLI::App program("Search a Lucene++ index with BM25 and rescore the hits with a sparse cross-encoder.", "relucent");
  program.set_version_flag("--version", fmt::format("relucent {}", version()));
  program.require_subcommand(1);
  program.footer(
      "Each command has its own --help.\n\nExample:\n"
      "  relucent index --corpus tsv --input documents.tsv --index my.index\n"
      "  relucent search --index my.index \"why is the sky blue\"\n\n"
      "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 invalid or corrupt data, 4 finished but degraded, 130 interrupted");
  Action chosen;
  for (const auto add :
       {add_index,  add_delete, add_snapshot, add_encode, add_graphs,   add_verify,     add_search,
        add_doc,    add_rerank, add_classify, add_serve,  add_evaluate, add_experiment, add_dialogues,
        add_topics, add_qrels,  add_run,      add_model,  add_config,   add_bench,      add_completion}) {
    add(program, chosen);
  }
  if (const std::string message = unknown_command(program, argc, argv); !message.empty()) {
    return report(message + "\nSee: relucent --help", bad_usage);
  }
  if (argc == 2 && std::string_view(argv[1]) == "--man") {  // used by the build to generate relucent.1
    std::cout << man_page(program);
    return finish_output(ok);
  }
  if (argc < 2) {
    std::cerr << program.help();
    return bad_usage;
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return finish_output(program.exit(success, std::cout, std::cerr));
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = &program;
    std::string name = "relucent";
    for (auto inner = command->get_subcommands(); !inner.empty(); inner = command->get_subcommands()) {
      command = inner.front();
      name += " " + command->get_name();
    }
    // A misspelt option is reported even if the one that was meant is missing for it.
    const std::string unknown = unknown_option(*command);
    const std::string problem = unknown.empty() ? error.what() : suggest_option(unknown, *command);
    return report(fmt::format("{}\nSee: {} --help", problem, name), bad_usage);
  }
  if (!chosen) return report("nothing to do\nSee: relucent --help", bad_usage);
  return finish_output(chosen());
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return bad_usage;
    case ErrorKind::invalid_data: return bad_data;
    case ErrorKind::interrupted: return interrupted;
    case ErrorKind::io:
    case ErrorKind::unsupported:
    case ErrorKind::device:
    case ErrorKind::deadline:
    case ErrorKind::internal: return failed;
  }
  return failed;
}

int run_program(int argc, char** argv) {
  set_locale();
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    return report(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("not enough memory; close other programs, or use fewer --threads or a smaller input", failed);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(
        fmt::format("{}: {}; check the path and its permissions", error.path1().string(), error.code().message()),
        failed);
  } catch (const std::exception& error) {
    return report(fmt::format("{}; this is unexpected; please report it", error.what()), failed);
  } catch (...) {
    return report("unknown error; please report it", failed);
  }
}

}  // namespace relucent::program
