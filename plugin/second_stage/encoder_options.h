#pragma once

#include <string_view>

#include "relucent/config.h"
#include "relucent/kernels/backend.h"

namespace relucent {

/// The device, precision and threads of `[rescorer]`.
BackendOptions backend_options(const ScorerConfig& config);

/// For models whose checkpoint alone decides what they read of a text. Throws Error `usage` if the profile sets a key
/// of
/// `[rescorer]` that states it for cross-encoders.
/// @param model  "a MIR"
/// @param reads  what such a model reads instead, for the remedy
void refuse_text_keys(const ScorerConfig& config, std::string_view model, std::string_view reads);

}  // namespace relucent
