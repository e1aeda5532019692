#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "relucent/error.h"

namespace relucent::program {

/// The format that --to states, or else the one that the name of the output file implies.
/// @param parse    the format of a name; throws Error `usage`
/// @param implied  the format that a file's name implies
/// @param choices  for the error: "trec, msmarco or jsonl"
/// Throws Error `usage` if neither the option nor the name determines a format.
template <typename Format>
Format chosen_format(const std::string& stated, const std::string& file, Format (*parse)(std::string_view),
                     std::optional<Format> (*implied)(const std::filesystem::path&), const char* choices) {
  if (!stated.empty()) return parse(stated);
  if (const std::optional<Format> format = implied(file)) return *format;
  throw Error(ErrorKind::usage, file, "has a name that does not imply a format",
              fmt::format("choose one: --to {}", choices));
}

}  // namespace relucent::program
