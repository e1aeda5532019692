#pragma once

#include <CLI/CLI.hpp>
#include <vector>

namespace relucent::program {

/// The commands directly below this one.
inline std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

/// Whether --help lists the option.
inline bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

}  // namespace relucent::program
