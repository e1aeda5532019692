#pragma once

#include "model/families/family.h"

namespace relucent {

/// MixEncoder (EMNLP 2023): a BERT that encodes queries and candidates apart, and a few layers in which a candidate's
/// context sees the query.
extern const Family kMixEncoderFamily;

}  // namespace relucent
