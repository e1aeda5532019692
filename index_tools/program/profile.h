#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "relucent/config.h"
#include "relucent/error.h"

namespace relucent::program {

/// Flags shared by several commands that override a profile's keys.
struct ProfileFlags {
  std::string config;  ///< --config; empty: the defaults
  std::optional<std::string> model, device, precision, pattern, instruction;
  std::optional<int> threads, timeout_ms, max_length, max_query_length, attention_window, window;
};

/// Adds --config, --model, --device, --precision, --threads, --max-length, --max-query-length, --instruction,
/// --pattern, --attention-window, --window and --timeout-ms.
void add_profile_flags(CLI::App& command, ProfileFlags& flags);

/// Loads the profile of that name ("-": standard input); the defaults for an empty name. Throws Error.
Config load_profile_file(const std::string& file);

/// Every mistake in the profile of that name; empty if load_profile_file() accepts it. Throws Error if it cannot be
/// read.
std::vector<Error> errors_of_profile(const std::string& file);

/// Loads the profile, applies the flags and checks the result. There is no deadline unless the profile or --timeout-ms
/// sets one. Only errors are logged to standard error unless the profile sets [log] level or file.
/// @param whole_window  also lifts the limit of the rescore window unless the profile itself or --window sets one
/// Throws Error.
Config load_profile(const ProfileFlags& flags, bool whole_window = false);

}  // namespace relucent::program
