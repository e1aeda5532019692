#pragma once

#include <string>
#include <string_view>

namespace relucent::program {

/// Writes a whole result: to standard output where `file` is "-", else to the file, which appears whole or
/// not at all. Throws Error `io`.
void write_result(const std::string& file, std::string_view text);

}  // namespace relucent::program
