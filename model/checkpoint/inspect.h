#pragma once

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/checkpoint.h"

namespace relucent {

/// The description of a checkpoint, as far as it has been read.
CheckpointInfo describe_checkpoint(const CheckpointParts& parts);

}  // namespace relucent
