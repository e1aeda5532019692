#pragma once

#include <string_view>
#include <vector>

#include "model/graphs/build_graph.h"
#include "relucent/config.h"

namespace relucent {

/// The terms that the configured analyzer makes of a text, with their places. Throws Error `usage` for an unknown
/// analyzer. Thread-safe.
std::vector<TermPlace> term_places(const FirstStageConfig& first_stage, std::string_view text);

}  // namespace relucent
