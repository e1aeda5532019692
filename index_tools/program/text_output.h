#pragma once

#include <string>
#include <string_view>

namespace relucent::program {

/// Writes a whole result to `file`, which appears whole or not at all; to standard output if `file` is "-". Throws
/// Error `io`.
void write_result(const std::string& file, std::string_view text);

/// Writes a drawing as write_result() does, and reports it on standard error unless `quiet` is set.
/// @param what  it shows: "nDCG@10 by attention window"
void write_plot(const std::string& file, std::string_view svg, const std::string& what, bool quiet = false);

}  // namespace relucent::program
