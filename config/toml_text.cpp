#include "config/toml_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/nesting.h"
#include "base/text.h"
#include "relucent/error.h"

namespace relucent::config {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;

void require_shallow(std::string_view text, std::string_view name) {
  const auto place = too_deep_in_toml(text);
  if (!place) return;
  const std::string_view before = text.substr(0, *place);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0
  throw Error(ErrorKind::invalid_data, fmt::format("{}:{}:{}", name, lines + 1, column + 1),
              fmt::format("nests deeper than {} levels", kMaxNesting), "a profile has only sections and keys");
}

}  // namespace

std::string read_toml_file(const std::filesystem::path& file) {
  const std::string remedy = "give a readable TOML file";
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorKind::io, file.string(), "is a directory, not a configuration file", remedy);
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::io, file.string(), fmt::format("cannot be opened: {}", std::strerror(errno)), remedy);
  std::string text;
  std::array<char, 4096> piece;
  do {
    in.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
  } while (in && text.size() <= kMaxFile);
  if (in.bad())
    throw Error(ErrorKind::io, file.string(), fmt::format("cannot be read: {}", std::strerror(errno)), remedy);
  if (text.size() > kMaxFile) {
    throw Error(ErrorKind::invalid_data, file.string(), "is larger than 1 MiB, the limit for a profile", remedy);
  }
  return text;
}

toml::table parse_toml(std::string_view text, std::string_view name) {
  require_shallow(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    toml_error(name, error.source(), std::string(error.description()), "see https://toml.io for the notation");
  }
}

std::string toml_place(std::string_view name, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", name, source.begin.line, source.begin.column);
}

void toml_error(std::string_view name, const toml::source_region& source, const std::string& problem,
                const std::string& remedy) {
  throw Error(ErrorKind::invalid_data, toml_place(name, source), problem, remedy);
}

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& names) {
  const std::string near = closest_name(wrong, names);
  return near.empty() ? "known: " + join(names) : fmt::format("did you mean \"{}\"?", near);
}

const char* toml_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a section";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a decimal point";
    case toml::node_type::boolean: return "a boolean";
    default: return "a date or time";
  }
}

std::vector<std::pair<const toml::key*, const toml::node*>> in_order(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> entries;
  for (const auto& [key, node] : table) entries.emplace_back(&key, &node);
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first->source().begin < b.first->source().begin; });
  return entries;
}

}  // namespace relucent::config
