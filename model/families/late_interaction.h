#pragma once

#include "model/families/family.h"

namespace relucent {

/// ColBERT in the layouts of Lightning IR, whose config.json tells all; of colbert-ai, with artifact.metadata; and of
/// PyLate, with config_sentence_transformers.json and the projection in a module of its own.
extern const Family kLightningColFamily, kColbertFamily, kPylateBertFamily, kPylateModernBertFamily;
/// Poly-Encoder (arXiv 1905.01969), as the baseline of MixEncoder's paper: one BERT for queries and candidates.
extern const Family kPolyEncoderFamily;

/// Whether a config.json of the family's model type, with the files next to it, is one of its checkpoints and not an
/// encoder of another kind. Throws Error `io` or `invalid_data`.
bool is_late_interaction(const JsonFile& config, const Family& family);

}  // namespace relucent
