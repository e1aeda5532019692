#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relucent::program {

/// Writes a whole result to `file`, which appears whole or not at all; to standard output if `file` is "-". Throws
/// Error `io`.
void write_result(const std::string& file, std::string_view text);

/// Writes a drawing as write_result() does, and reports it on standard error unless `quiet` is set.
/// @param what  it shows: "nDCG@10 by attention window"
void write_plot(const std::string& file, std::string_view svg, const std::string& what, bool quiet = false);

/// "7 queries are missing: 301, 302, 303, 304, 305, ...", with what = "queries are missing".
std::string query_list(const std::vector<std::string>& ids, const std::string& what);

}  // namespace relucent::program
