#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/file/unique_fd.h"

namespace relucent::index_tools {

/// The open file descriptor that a file name on the command line refers to: `dash` for "-", 0 to 2 for /dev/stdin,
/// /dev/stdout and /dev/stderr, N for /dev/fd/N and /proc/self/fd/N. Nothing for other names. A file called "-" is
/// "./-".
std::optional<int> named_descriptor(const std::filesystem::path& file, int dash);

/// Duplicates a descriptor; the copy shares the file offset. Throws Error `io` if the descriptor is not open.
UniqueFd duplicate_descriptor(int descriptor, const std::string& name);

/// The name of an input for messages: "standard input" for "-".
std::string input_name(const std::filesystem::path& file);

}  // namespace relucent::index_tools
