#pragma once

#include <string_view>

#include "model/formats/json_file.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// The attention pattern that config.json states; a flag it does not state is true, no window is unlimited.
/// Throws Error `invalid_data` for a value of the wrong type or a negative window.
AttentionPattern read_attention_pattern(const JsonFile& config);

/// Whether `key` is one of those that read_attention_pattern reads.
bool is_attention_pattern_key(std::string_view key);

/// Whether `key` reads like a statement about attention or the input's layout, so that ignoring it could
/// change scores.
bool sounds_like_attention(std::string_view key);

}  // namespace relucent
