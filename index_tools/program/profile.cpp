#include "index_tools/program/profile.h"

#include <filesystem>
#include <toml++/toml.h>

namespace relucent::program {
namespace {

constexpr std::int32_t kLargestWindow = 100000;

// Whether the profile itself has a key: a Config no longer tells it from a default.
bool states(const std::string& file, const char* section, const char* key) {
  if (file.empty()) return false;
  const toml::table table = toml::parse_file(file);  // load_config has read it before: it is sound
  return table[section][key].node() != nullptr;
}

}  // namespace

void add_profile_flags(CLI::App& command, ProfileFlags& flags) {
  command.add_option("--config", flags.config, "Profile (TOML); see `relucent config show`")->type_name("FILE");
  command.add_option("--model", flags.model, "Checkpoint folder (default: the bundled one)")->type_name("DIR");
  command.add_option("--device", flags.device, "auto | ref | cpu | cuda:N | cuda")->type_name("DEVICE");
  command.add_option("--precision", flags.precision, "auto | fp32 | tf32 | bf16 | fp16 | int8")->type_name("PRECISION");
  command.add_option("--threads", flags.threads, "Threads of the model (default: every core)")->type_name("N");
  command.add_option("--attention-window", flags.attention_window, "w; -1: unlimited (default: the checkpoint's)")
      ->type_name("W");
  command.add_option("--window", flags.window, "How many hits are rescored")->type_name("N");
  command.add_option("--timeout-ms", flags.timeout_ms,
                     "Deadline of a query's rescoring; 0: none (default: none, unless the profile sets one)")
      ->type_name("MS");
}

Config load_profile(const ProfileFlags& flags, bool whole_window) {
  Config config = flags.config.empty() ? Config{} : load_config(flags.config);
  RescorerConfig& rescorer = config.rescorer;
  if (!states(flags.config, "rescorer", "timeout_ms")) rescorer.timeout_ms = 0;
  if (whole_window && !states(flags.config, "rescorer", "window")) rescorer.window = kLargestWindow;
  // The commands themselves say what an answer lacks; the library's log on the same screen would say it again.
  if (!states(flags.config, "log", "level") && config.log.file.empty()) config.log.level = "error";
  if (flags.model) rescorer.model = *flags.model;
  if (flags.device) rescorer.device = *flags.device;
  if (flags.precision) rescorer.precision = *flags.precision;
  if (flags.threads) rescorer.threads = *flags.threads;
  if (flags.timeout_ms) rescorer.timeout_ms = *flags.timeout_ms;
  if (flags.attention_window) rescorer.attention_window = *flags.attention_window;
  if (flags.window) rescorer.window = *flags.window;
  check_config(config);
  return config;
}

}  // namespace relucent::program
