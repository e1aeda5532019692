#pragma once

#include "index_tools/program/commands.h"

namespace relucent::program {

/// Adds `fuse` to the command `run`.
void add_run_fuse(CLI::App& run, Action& chosen);

}  // namespace relucent::program
