#pragma once

#include <string_view>
#include <vector>

#include "model/graphs/build_graph.h"
#include "relucent/analyzer_kind.h"

namespace relucent::analysis {

/// The terms of analyze() with their places in code points.
std::vector<TermPlace> places_of_terms(AnalyzerKind analyzer, std::string_view text);

}  // namespace relucent::analysis
