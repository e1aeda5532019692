#pragma once

#include <string_view>
#include <vector>

#include "model/graphs/build_graph.h"

namespace relucent::analysis {

/// The terms of analyze_english() with their places in code points.
std::vector<TermPlace> english_term_places(std::string_view text);

}  // namespace relucent::analysis
