#pragma once

#include "plugin/index_format/analysis/languages/word_step.h"
#include "relucent/analyzer_kind.h"

namespace relucent::analysis {

/// The Snowball stemmer of Dutch, Finnish, Russian, Swedish or Turkish as modern Lucene has it. Throws Error `internal`
/// if the Snowball library lacks the language.
WordStep snowball_stemmer(AnalyzerKind language);

}  // namespace relucent::analysis
