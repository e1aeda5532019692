#pragma once

#include <string>
#include <string_view>

namespace relucent::program {

/// Writes a whole result to `file`, which appears whole or not at all; to standard output if `file` is "-". Throws
/// Error `io`.
void write_result(const std::string& file, std::string_view text);

}  // namespace relucent::program
