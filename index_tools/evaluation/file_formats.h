#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {

/// A kind of file's formats and their names on a command line.
template <typename Format, std::size_t count>
using FormatNames = std::array<std::pair<std::string_view, Format>, count>;

template <typename Format, std::size_t count>
std::string_view name_of_format(const FormatNames<Format, count>& names, Format format) noexcept {
  for (const auto& [name, value] : names) {
    if (value == format) return name;
  }
  return {};
}

/// Throws Error `usage` naming the formats for another name.
template <typename Format, std::size_t count>
Format format_named(const FormatNames<Format, count>& names, std::string_view name, const char* what) {
  for (const auto& [known, format] : names) {
    if (known == name) return format;
  }
  throw Error(ErrorKind::usage, "format " + excerpt(name), std::string("is none that ") + what + " have",
              "choose from " + join(names | std::views::keys));
}

/// A name's ending with its dot, that of a compression before it left aside: ".tsv" of "topics.tsv.gz".
inline std::string ending_of(const std::filesystem::path& file) {
  const std::filesystem::path name = file.filename();
  return (name.extension() == ".gz" ? name.stem() : name).extension().string();
}

}  // namespace relucent::index_tools
