#pragma once

#include <string_view>

#include "model/formats/json_file.h"
#include "relucent/kernels/encoder.h"

namespace relucent {

/// The attention pattern in config.json; a missing flag is true, a missing window is unlimited.
/// Throws Error `invalid_data` for a value of the wrong type or a negative window.
AttentionPattern read_attention_pattern(const JsonFile& config);

/// Sets the keys that read_attention_pattern reads.
void write_attention_pattern(const AttentionPattern& pattern, JsonFile& config);

/// Whether read_attention_pattern reads `key`.
bool is_attention_pattern_key(std::string_view key);

/// Whether `key` looks like a setting for attention or the input's layout, so that ignoring it could change
/// scores.
bool sounds_like_attention(std::string_view key);

}  // namespace relucent
