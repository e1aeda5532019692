#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "config/schema.h"
#include "relucent/error.h"

namespace relucent {
namespace config {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string out(buffer, end);
  // TOML reads a number without a decimal point or exponent as an integer.
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

}  // namespace

std::string to_toml_value(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return number(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    std::vector<std::string> elements;
    for (const std::string& text : *texts) elements.push_back(quoted(text));
    return fmt::format("[{}]", join(elements));
  }
  return "unset";
}

}  // namespace config

namespace {

/// "KEY = VALUE", or a comment if it is not set.
std::string line_of(const config::Key& key, const config::Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return fmt::format("# {} = (unset)\n", key.name);
  return fmt::format("{} = {}\n", key.name, config::to_toml_value(value));
}

std::string stages_of(const Config& config) {
  std::string out;
  for (std::size_t i = 0; i < config.rescorer.stages.size(); ++i) {
    out += fmt::format("\n# Stage {} of {}.\n[[rescorer.{}]]\n", i + 1, config.rescorer.stages.size(), config::kStages);
    for (const auto& key : config::schema()) {
      if (key.get_of_stage) out += line_of(key, key.get_of_stage(config.rescorer.stages[i]));
    }
  }
  return out;
}

/// Throws Error `usage` naming the key. `stage`: from 1; 0: not a stage.
void check_value(const config::Key& key, const config::Value& value, std::size_t stage) {
  if (std::holds_alternative<std::monostate>(value) || key.is_allowed(value)) return;
  throw Error(ErrorKind::usage, fmt::format("[{}] {}", config::section_name(key, stage), key.name),
              config::to_toml_value(value) + " is not allowed", key.remedy(value));
}

}  // namespace

std::string to_toml(const Config& config) {
  std::string out, section;
  for (const auto& key : config::schema()) {
    if (key.section != section) {
      if (section == "rescorer") out += stages_of(config);
      if (!section.empty()) out += '\n';
      section = key.section;
      out += fmt::format("# {}\n[{}]\n", config::section_meaning(section), section);
    }
    out += fmt::format("# {} ({})\n", key.meaning, key.allowed);
    out += line_of(key, key.get(config));
  }
  return out;
}

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    const Config defaults;
    std::vector<ConfigKey> all;
    for (const auto& key : config::schema()) {
      all.push_back({key.section, key.name, key.allowed, config::to_toml_value(key.get(defaults)), key.meaning});
    }
    return all;
  }();
  return keys;
}

void check_config(const Config& config) {
  for (const auto& key : config::schema()) check_value(key, key.get(config), 0);
  const auto& stages = config.rescorer.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const auto& key : config::schema()) {
      if (key.get_of_stage) check_value(key, key.get_of_stage(stages[i]), i + 1);
    }
  }
  if (stages.size() > config::kMaxStages) {
    throw Error(ErrorKind::usage, fmt::format("[[rescorer.{}]]", config::kStages),
                fmt::format("there are {} stages", stages.size()), fmt::format("use at most {}", config::kMaxStages));
  }
  for (const auto& conflict : config::find_conflicts(config)) {
    throw Error(ErrorKind::usage,
                fmt::format("[{}] {}", config::section_name(*conflict.key, conflict.stage), conflict.key->name),
                conflict.problem, conflict.remedy);
  }
}

}  // namespace relucent
