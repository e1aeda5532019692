#pragma once

#include "model/families/family.h"

namespace relucent {

/// T5 (v1.0 and v1.1) as a cross-encoder: monoT5. The score is the log-probability of "true" against "false" as the
/// first word that the decoder writes after "Query: ... Document: ... Relevant:". In a sparse pattern, C stands for the
/// decoder's token.
extern const Family kT5Family;

}  // namespace relucent
