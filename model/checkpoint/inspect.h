#pragma once

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/checkpoint.h"

namespace relucent {

/// The description of a checkpoint that has been read.
CheckpointInfo describe_checkpoint(const Checkpoint& checkpoint);

}  // namespace relucent
