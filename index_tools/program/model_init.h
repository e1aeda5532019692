#pragma once

#include <CLI/CLI.hpp>

#include "index_tools/program/commands.h"

namespace relucent::program {

/// Adds `model init` to `model`.
void add_model_init(CLI::App& model, Action& chosen);

}  // namespace relucent::program
