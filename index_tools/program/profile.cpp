#include "index_tools/program/profile.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <filesystem>

#include "config/profile_errors.h"
#include "config/toml_text.h"
#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/named_descriptor.h"
#include "index_tools/program/flags.h"
#include "relucent/error.h"

namespace relucent::program {
namespace {

constexpr std::int32_t kMaxWindow = 100000;
constexpr std::size_t kMaxProfile = 1 << 20;  // bytes

// Whether the profile itself sets a key, which a Config cannot tell.
bool states(const toml::table& profile, const char* section, const char* key) {
  return profile[section][key].node() != nullptr;
}

// A pipe or standard input can be read only once, and a profile from it has no folder for relative paths.
std::string text_of_stream(const std::string& file) {
  index_tools::FileStream stream(file);
  std::string text;
  char buffer[4096];
  for (std::size_t count; (count = stream.read(buffer, sizeof buffer)) > 0;) {
    text.append(buffer, count);
    if (text.size() > kMaxProfile) {
      throw Error(ErrorKind::invalid_data, index_tools::input_name(file),
                  "is larger than 1 MiB, the limit for a profile", "pass a TOML file");
    }
  }
  return text;
}

struct Profile {
  Config config;
  toml::table table;
};

bool is_stream(const std::string& file) {
  std::error_code ignored;
  return index_tools::named_descriptor(file, STDIN_FILENO) ||
         (std::filesystem::exists(file, ignored) && std::filesystem::is_fifo(file, ignored));
}

Profile read_profile(const std::string& file) {
  if (file.empty()) return {};
  // The second reading is of what the first one has validated.
  if (!is_stream(file)) return {load_config(file), toml::parse(config::read_toml_file(file))};
  const std::string text = text_of_stream(file);
  return {parse_config(text, index_tools::input_name(file)), toml::parse(text)};
}

/// Flags of a single stage, which do not name one of several.
void refuse_keys_of_stages(const ProfileFlags& flags) {
  const std::pair<const char*, bool> given[] = {{"--model", flags.model.has_value()},
                                                {"--max-length", flags.max_length.has_value()},
                                                {"--max-query-length", flags.max_query_length.has_value()},
                                                {"--instruction", flags.instruction.has_value()},
                                                {"--pattern", flags.pattern.has_value()},
                                                {"--attention-window", flags.attention_window.has_value()},
                                                {"--window", flags.window.has_value()}};
  for (const auto& [flag, is_given] : given) {
    if (!is_given) continue;
    throw Error(ErrorKind::usage, flag, "does not name the profile's stage that it is for",
                "set it in the [[rescorer.stages]] of " + flags.config);
  }
}

/// How all models are computed.
void set_computation(const ProfileFlags& flags, StageConfig& stage) {
  if (flags.device) stage.device = parse_device(*flags.device);
  if (flags.precision) stage.precision = parse_precision(*flags.precision);
  if (flags.threads) stage.threads = *flags.threads;
}

}  // namespace

void add_profile_flags(CLI::App& command, ProfileFlags& flags) {
  add_value(command, "--config FILE", flags.config, "Profile (TOML); see `relucent config show`");
  add_value(command, "--model DIR", flags.model,
            "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  add_value(command, "--device DEVICE", flags.device, "auto | ref | cpu | cuda:N | cuda");
  add_value(command, "--precision PRECISION", flags.precision, "auto | fp32 | tf32 | bf16 | fp16 | int16 | int8");
  add_value(command, "--threads N", flags.threads, "Model threads (default: every core)");
  add_value(command, "--max-length N", flags.max_length,
            "Tokens of the model's input, including the query; 0: the checkpoint's (default)");
  add_value(command, "--max-query-length N", flags.max_query_length,
            "Word pieces of a query; 0: the checkpoint's limit, if it has one (default)");
  add_value(command, "--instruction TEXT", flags.instruction,
            "What a model that is told judges by, e.g. Qwen3-Reranker (default: its own)");
  add_value(command, "--pattern PATTERN", flags.pattern,
            "Attention: checkpoint | full | local | longformer | qds | sparse");
  add_value(command, "--attention-window W", flags.attention_window,
            "Attention window; -1: unlimited (default: the checkpoint's)");
  add_value(command, "--window N", flags.window, "Number of hits to rescore");
  add_value(command, "--timeout-ms MS", flags.timeout_ms,
            "Deadline for rescoring a query; 0: none (default: none unless the profile sets one)");
}

Config load_profile_file(const std::string& file) { return read_profile(file).config; }

std::vector<Error> errors_of_profile(const std::string& file) {
  if (is_stream(file)) return config::profile_errors(text_of_stream(file), index_tools::input_name(file));
  return config::profile_errors(config::read_toml_file(file), file);
}

Config load_profile(const ProfileFlags& flags, bool whole_window) {
  const Profile profile = read_profile(flags.config);
  Config config = profile.config;
  SecondStageConfig& rescorer = config.rescorer;
  const bool no_window = !states(profile.table, "rescorer", "window");
  if (whole_window && no_window) rescorer.window = kMaxWindow;
  if (!rescorer.stages.empty()) {
    refuse_keys_of_stages(flags);
    const toml::node_view first = profile.table["rescorer"]["stages"][0];
    if (whole_window && no_window && first["window"].node() == nullptr) rescorer.stages.front().window = kMaxWindow;
  }
  // The commands themselves report degraded answers; the library's log would repeat that on the same terminal.
  if (!states(profile.table, "log", "level") && config.log.file.empty()) config.log.level = LogLevel::error;
  if (!config.first_stage.count) config.first_stage.count = kCountOfPrograms;
  if (flags.model) rescorer.model = *flags.model;
  set_computation(flags, rescorer);
  for (StageConfig& stage : rescorer.stages) set_computation(flags, stage);
  if (flags.timeout_ms) rescorer.timeout = std::chrono::milliseconds(*flags.timeout_ms);
  if (flags.max_length) rescorer.max_length = *flags.max_length;
  if (flags.max_query_length) rescorer.max_query_length = *flags.max_query_length;
  if (flags.instruction) rescorer.instruction = *flags.instruction;
  if (flags.pattern) rescorer.pattern = parse_pattern(*flags.pattern);
  if (flags.attention_window) rescorer.attention_window = *flags.attention_window;
  if (flags.window) rescorer.window = *flags.window;
  check_config(config);
  return config;
}

}  // namespace relucent::program
