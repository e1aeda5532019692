#pragma once

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/checkpoint.h"

namespace relucent {

/// What is told about a checkpoint that has been read.
CheckpointInfo describe_checkpoint(const Checkpoint& checkpoint);

}  // namespace relucent
