#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace relucent::program {

/// The commands directly below this one.
inline std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

/// Whether --help lists the option.
inline bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

/// The program's manual page (groff's man macros): all commands with their --help texts.
/// @param program  with its subcommands added
std::string man_page(const CLI::App& program);

/// What may follow an option, or stand in a place.
struct CompletionValue {
  enum class Kind { other, words, files, folders };
  Kind kind = Kind::other;
  std::vector<std::string> words;  ///< of Kind::words
  std::string name;                ///< as --help shows it: FILE, DIR, N
};

struct CompletionOption {
  std::vector<std::string> names;  ///< with their hyphens
  std::string description;         ///< short: its first clause
  bool takes_value = false;
  bool repeats = false;  ///< several values may follow
  CompletionValue value;
};

struct CompletionCommand {
  std::string path;  ///< "relucent run fuse"
  std::vector<CompletionOption> options;
  std::vector<std::pair<std::string, std::string>> commands;  ///< name and description of those below
  CompletionValue place;                                      ///< of the first positional argument
};

/// Every command of the program, itself included, in the order of --help; a command stands before those below it.
std::vector<CompletionCommand> completion_table(const CLI::App& program);

/// Scripts that complete the commands, options and values of the table; they do not start the program.
std::string bash_completion(const std::vector<CompletionCommand>& table);
std::string zsh_completion(const std::vector<CompletionCommand>& table);
std::string fish_completion(const std::vector<CompletionCommand>& table);

}  // namespace relucent::program
