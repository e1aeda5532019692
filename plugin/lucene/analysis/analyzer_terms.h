#pragma once

#include <memory>

#include "plugin/index_format/analysis/term_source.h"
#include "relucent/config.h"

namespace relucent {

/// The terms of the configured analyzer. Throws Error `usage` for an unknown one.
std::unique_ptr<analysis::TermSource> make_term_source(const FirstStageConfig& first_stage);

}  // namespace relucent
