#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "index_tools/evaluation/text_lines.h"
#include "relucent/error.h"

namespace relucent::index_tools {

/// The formats of one kind of file.
template <typename Format>
struct FileFormats {
  struct Row {
    Format format;
    std::string_view name;                       ///< on a command line
    std::vector<std::string_view> endings = {};  ///< of the file names that imply it; none: it is only read
  };
  const char* kind;  ///< of file, for errors: "run"
  std::vector<Row> rows;

  std::string_view name_of(Format format) const {
    for (const Row& row : rows) {
      if (row.format == format) return row.name;
    }
    return {};
  }

  /// Throws Error `usage` that lists the formats if none that is written has this name.
  Format named(std::string_view name) const {
    for (const Row& row : rows) {
      if (row.name == name && !row.endings.empty()) return row.format;
    }
    throw Error(ErrorKind::usage, {}, fmt::format("unknown {} format {}", kind, excerpt(name)),
                "choose from " + join(written()));
  }

  /// The format that a file's name implies, ignoring ".gz"; nothing for other names.
  std::optional<Format> implied(const std::filesystem::path& file) const {
    const std::filesystem::path name = file.filename();
    const std::string ending = (name.extension() == ".gz" ? name.stem() : name).extension().string();
    for (const Row& row : rows) {
      for (const std::string_view known : row.endings) {
        if (known == ending) return row.format;
      }
    }
    return std::nullopt;
  }

  /// The format of the name `stated` or, if that is empty, the one that the name of the file implies. Throws Error
  /// `usage` if neither determines a format.
  Format chosen(const std::string& stated, const std::string& file) const {
    if (!stated.empty()) return named(stated);
    if (const std::optional<Format> format = implied(file)) return *format;
    throw Error(ErrorKind::usage, file, "has a name that does not imply a format",
                "choose one: --to " + join(written(), " | "));
  }

  /// The names of those that are written.
  std::vector<std::string_view> written() const {
    std::vector<std::string_view> names;
    for (const Row& row : rows) {
      if (!row.endings.empty()) names.push_back(row.name);
    }
    return names;
  }
};

}  // namespace relucent::index_tools
