#pragma once

#include <string>

#include "model/checkpoint/checkpoint_reader.h"
#include "relucent/model/cross_encoder.h"

namespace relucent {

/// Throws Error `usage`.
[[noreturn]] void bad_option(const std::string& problem, const std::string& remedy);

/// Throws Error `usage` for options that are out of range, contradict each other, or do not apply to the checkpoint.
void check_options(const CrossEncoderOptions& options, const Checkpoint& checkpoint);

}  // namespace relucent
