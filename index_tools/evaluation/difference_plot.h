#pragma once

#include <cstddef>
#include <string>

#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {

/// Draws one measure's differences query by query as SVG: one panel per comparison with the first run, one bar per
/// query, the highest difference first, the mean as a dashed line. The colours are readable on white and on black.
/// Tooltips show each bar's query and values. Throws Error `invalid_data` if two runs have no query in common.
std::string difference_plot(const Report& report, std::size_t measure);

}  // namespace relucent::index_tools
