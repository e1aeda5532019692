#pragma once

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {

/// The formats of one kind of file and their names on a command line.
template <typename Format, std::size_t count>
using FormatNames = std::array<std::pair<std::string_view, Format>, count>;

template <typename Format, std::size_t count>
std::string_view name_of_format(const FormatNames<Format, count>& names, Format format) noexcept {
  for (const auto& [name, value] : names) {
    if (value == format) return name;
  }
  return {};
}

/// @param kind  of the file, for the error: "run"
/// Throws Error `usage` that lists the formats if `name` is unknown.
template <typename Format, std::size_t count>
Format format_named(const FormatNames<Format, count>& names, std::string_view name, const char* kind) {
  for (const auto& [known, format] : names) {
    if (known == name) return format;
  }
  throw Error(ErrorKind::usage, {}, fmt::format("unknown {} format {}", kind, excerpt(name)),
              "choose from " + join(names, ", ", [](const auto& each) { return each.first; }));
}

/// The extension with its dot, ignoring ".gz": ".tsv" for "topics.tsv.gz".
inline std::string ending_of(const std::filesystem::path& file) {
  const std::filesystem::path name = file.filename();
  return (name.extension() == ".gz" ? name.stem() : name).extension().string();
}

}  // namespace relucent::index_tools
