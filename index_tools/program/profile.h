#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "relucent/config.h"

namespace relucent::program {

/// The flags that several commands share and that stand above a profile's keys.
struct ProfileFlags {
  std::string config;  ///< --config; empty: the defaults
  std::optional<std::string> model, device, precision;
  std::optional<int> threads, timeout_ms, attention_window, window;
};

/// Adds --config, --model, --device, --precision, --threads, --attention-window, --window and --timeout-ms.
void add_profile_flags(CLI::App& command, ProfileFlags& flags);

/// The profile of that name, "-" being standard input; the defaults for an empty name. Throws Error.
Config load_profile_file(const std::string& file);

/// The profile with the flags applied, checked. A person who waits at a command line wants the answer: there is no
/// deadline unless the profile itself or --timeout-ms sets one (the library's default is 500 ms). Of the log only
/// errors come to standard error unless the profile states [log] level or file.
/// @param whole_window  no limit of the rescore window either unless the profile itself or --window sets one
/// Throws Error.
Config load_profile(const ProfileFlags& flags, bool whole_window = false);

}  // namespace relucent::program
