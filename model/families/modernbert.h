#pragma once

#include "model/families/family.h"

namespace relucent {

/// ModernBERT with a sequence classification head of one output: rotary positions, gated feed-forward, norms before
/// the sub-blocks, and layers that alternate between the whole input and a window on it.
extern const Family kModernBertFamily;

}  // namespace relucent
