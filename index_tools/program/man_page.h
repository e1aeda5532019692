#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace relucent::program {

/// The program's manual page (groff's man macros): all commands with their --help texts.
/// @param program  with its subcommands added
std::string man_page(const CLI::App& program);

}  // namespace relucent::program
