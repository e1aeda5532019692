#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "config/profile_errors.h"
#include "config/schema.h"
#include "config/toml_text.h"
#include "relucent/error.h"

namespace relucent {
namespace config {
namespace {

const char* type_name(Type type) {
  switch (type) {
    case Type::boolean: return "true or false";
    case Type::integer: return "a whole number";
    case Type::number: return "a number";
    case Type::text: return "a string in quotes";
    case Type::texts: return "an array of strings in quotes";
    case Type::integer_or_text: return "a whole number or a string in quotes";
  }
  return "";
}

// monostate if the node has another type.
Value value_of(const toml::node& node, Type type) {
  if (type == Type::boolean && node.is_boolean()) return node.as_boolean()->get();
  const bool either = type == Type::integer_or_text;
  if ((type == Type::integer || either) && node.is_integer()) return node.as_integer()->get();
  if (type == Type::number && node.is_floating_point()) return node.as_floating_point()->get();
  if (type == Type::number && node.is_integer()) return static_cast<double>(node.as_integer()->get());
  if ((type == Type::text || either) && node.is_string()) return node.as_string()->get();
  if (const auto* array = node.as_array(); array != nullptr && type == Type::texts) {
    std::vector<std::string> texts;
    for (const auto& element : *array) {
      if (!element.is_string()) return {};
      texts.push_back(element.as_string()->get());
    }
    return texts;
  }
  return {};
}

/// The key's value, which is_allowed.
Value read_value(const Key& key, const toml::node& node, std::string_view name) {
  const Value value = value_of(node, key.type);
  if (std::holds_alternative<std::monostate>(value)) {
    toml_error(name, node.source(),
               fmt::format("{} must be {}, not {}", key.name, type_name(key.type), toml_type(node)),
               "allowed: " + key.allowed);
  }
  if (!key.is_allowed(value)) {
    toml_error(name, node.source(), fmt::format("{} = {} is not allowed", key.name, to_toml_value(value)),
               key.remedy(value));
  }
  return value;
}

/// Receives each mistake; may throw it, which ends the reading.
using Report = std::function<void(const Error&)>;

/// Reads a part of the profile. After a mistake, reading continues behind it unless `report` throws.
void read_part(const Report& report, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    report(error);
  }
}

/// Where a key was written, and whether its value could be read.
struct Place {
  toml::source_region source;
  bool sound = false;
};
/// The place of each key of the section (stage 0) or of a stage.
using Places = std::map<std::pair<std::size_t, const Key*>, Place>;

void read_stage(const toml::table& table, std::string_view name, Config& config, Places& places, const Report& report) {
  std::vector<std::string> names;
  for (const auto& key : schema()) {
    if (key.set_of_stage) names.push_back(key.name);
  }
  StageConfig stage = config.rescorer;
  const auto read = [&](const toml::key& written, const toml::node& value) {
    const Key* const found = find_key("rescorer", written.str());
    if (found == nullptr) {
      toml_error(name, written.source(), fmt::format("unknown key \"{}\" in [[rescorer.{}]]", written.str(), kStages),
                 did_you_mean(written.str(), names));
    }
    if (!found->set_of_stage) {
      toml_error(name, written.source(), fmt::format("{} holds for all stages", found->name),
                 "set it in [rescorer], above the first [[rescorer.stages]]");
    }
    Place& place = places[{config.rescorer.stages.size() + 1, found}];
    place.source = value.source();
    found->set_of_stage(stage, read_value(*found, value, name));
    place.sound = true;
  };
  for (const auto& [written, value] : in_order(table)) {
    read_part(report, [&, key = written, node = value] { read(*key, *node); });
  }
  config.rescorer.stages.push_back(std::move(stage));
}

/// Each stage has the values of [rescorer], read before, except for the keys that it sets itself.
void read_stages(const toml::node& node, std::string_view name, Config& config, Places& places, const Report& report) {
  const std::string remedy =
      fmt::format("write [[rescorer.{}]] on a line of its own for each stage, and its keys below it", kStages);
  const toml::array* const stages = node.as_array();
  if (stages == nullptr)
    toml_error(name, node.source(), fmt::format("{} must be sections, not {}", kStages, toml_type(node)), remedy);
  for (const auto& stage : *stages) {
    if (!stage.is_table()) {
      toml_error(name, stage.source(), fmt::format("a stage must be a section, not {}", toml_type(stage)), remedy);
    }
    if (config.rescorer.stages.size() == kMaxStages) {
      toml_error(name, stage.source(), fmt::format("there are more than {} stages", kMaxStages), "use fewer");
    }
    read_stage(*stage.as_table(), name, config, places, report);
  }
}

void read_section(const toml::key& section, const toml::node& node, std::string_view name, Config& config,
                  Places& places, const Report& report) {
  std::vector<std::string> sections, names;
  for (const auto& key : schema()) {
    if (sections.empty() || sections.back() != key.section) sections.push_back(key.section);
    if (key.section == section.str()) names.push_back(key.name);
  }
  if (names.empty()) {
    toml_error(name, section.source(),
               node.is_table() ? fmt::format("unknown section [{}]", section.str())
                               : fmt::format("unknown key \"{}\"", section.str()),
               node.is_table() ? did_you_mean(section.str(), sections) : "put the key in a section: " + join(sections));
  }
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    toml_error(name, section.source(), fmt::format("{} must be a section, not {}", section.str(), toml_type(node)),
               fmt::format("write [{}] on a line of its own and the keys below it", section.str()));
  }
  const auto read = [&](const toml::key& written, const toml::node& value) {
    const Key* const found = find_key(section.str(), written.str());
    if (found == nullptr) {
      toml_error(name, written.source(), fmt::format("unknown key \"{}\" in [{}]", written.str(), section.str()),
                 did_you_mean(written.str(), names));
    }
    Place& place = places[{0, found}];
    place.source = value.source();
    found->set(config, read_value(*found, value, name));
    place.sound = true;
  };
  const toml::node* stages = nullptr;
  for (const auto& [written, value] : in_order(*table)) {
    if (section.str() == "rescorer" && written->str() == kStages) {
      stages = value;
      continue;
    }
    read_part(report, [&, key = written, node_of_key = value] { read(*key, *node_of_key); });
  }
  if (stages != nullptr) read_part(report, [&] { read_stages(*stages, name, config, places, report); });
}

Config read_profile(std::string_view toml_text, std::string_view name, const Report& report) {
  const toml::table root = parse_toml(toml_text, name);
  Config result;
  Places places;
  for (const auto& [section, node] : in_order(root)) {
    read_part(report, [&, key = section, value = node] { read_section(*key, *value, name, result, places, report); });
  }
  for (const Conflict& conflict : find_conflicts(result)) {
    auto place = places.find({conflict.stage, conflict.key});
    if (place == places.end()) place = places.find({0, conflict.key});
    const bool written = place != places.end();
    if (written && !place->second.sound) continue;  // was reported, and is not the value that conflicts
    report(Error(ErrorKind::invalid_data, written ? toml_place(name, place->second.source) : std::string(name),
                 conflict.problem, conflict.remedy));
  }
  return result;
}

}  // namespace

std::vector<Error> profile_errors(std::string_view toml_text, std::string_view name) {
  std::vector<Error> errors;
  std::set<std::string> seen;  // stages inherit the conflicts of the section
  const Report note = [&](const Error& error) {
    if (seen.insert(error.what()).second) errors.push_back(error);
  };
  read_part(note, [&] { read_profile(toml_text, name, note); });
  // Sections and conflicts were read in another order than that of the lines.
  const auto line = [name](const Error& error) {
    const std::string& place = error.place();
    return place.size() <= name.size() ? 0L : std::strtol(place.c_str() + name.size() + 1, nullptr, 10);
  };
  std::stable_sort(errors.begin(), errors.end(),
                   [&](const Error& one, const Error& other) { return line(one) < line(other); });
  return errors;
}

}  // namespace config

Config parse_config(std::string_view toml_text, std::string_view name) {
  return config::read_profile(toml_text, name, [](const Error& error) { throw error; });
}

Config load_config(const std::filesystem::path& file) {
  Config result = parse_config(config::read_toml_file(file), file.string());
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const auto resolved = [&](const config::Value& value) -> std::string {
    const std::string& path = std::get<std::string>(value);
    if (path.empty() || path == config::kBuiltInModule || std::filesystem::path(path).is_absolute()) return path;
    return (folder / path).lexically_normal().string();
  };
  for (const auto& key : config::schema()) {
    if (!key.is_path) continue;
    key.set(result, resolved(key.get(result)));
    if (!key.set_of_stage) continue;
    for (StageConfig& stage : result.rescorer.stages) key.set_of_stage(stage, resolved(key.get_of_stage(stage)));
  }
  return result;
}

}  // namespace relucent
