#pragma once

#include <cstddef>
#include <string>

#include "index_tools/evaluation/report.h"

namespace relucent::index_tools {

/// An SVG drawing of one measure's differences query by query: a panel for the first run against each other
/// one, a bar a query, the highest difference first, the mean as a dashed line. Its colours are readable on
/// white and on black. A bar's query and values show where the mouse rests. Throws Error `invalid_data` where
/// two runs have no query in common.
std::string difference_plot(const Report& report, std::size_t measure);

}  // namespace relucent::index_tools
