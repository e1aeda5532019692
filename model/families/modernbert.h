#pragma once

#include <vector>

#include "model/families/config_reader.h"
#include "model/families/family.h"

namespace relucent {

// What other families take from ModernBERT.

/// Reads sizes, biases and the longest input into `result`; returns the layers, which see what `pattern` and, if they
/// are local, their window allow. A norm follows the last one.
std::vector<Layer> read_modernbert_form(ConfigReader& config, const Views& pattern, FamilyConfiguration& result);

/// Reads what stands before the head. Tensors may have the prefix "model." or none.
FamilyWeights read_modernbert_encoder(TensorReader& reader, const FamilyConfiguration& configuration);

}  // namespace relucent
