#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace relucent::program {

/// The program's manual page (groff's man macros): all commands with what their --help says.
/// @param program  with its sub-commands added
std::string man_page(const CLI::App& program);

}  // namespace relucent::program
