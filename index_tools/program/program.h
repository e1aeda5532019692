#pragma once

namespace relucent::program {

/// Runs the program `relucent` with main's arguments and returns its exit code (ExitCode). Results go to standard
/// output, messages to standard error. Never throws.
int run_program(int argc, char** argv);

}  // namespace relucent::program
