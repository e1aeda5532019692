#pragma once

#include <cstdint>
#include <optional>

#include "model/families/family.h"
#include "model/formats/json_file.h"
#include "relucent/text_reading.h"

namespace relucent {

/// What the family reads from `config` with another attention pattern than the one that config.json names. `window` as
/// in TextReading::attention_window; unset: config.json's, or else 64, or 4 (sparse).
/// `pattern` is not `checkpoint`. For qds the description has a fourth group, sentences: they see all of the document,
/// and all of it sees them. Throws Error `usage` for a family whose tokens cannot be divided so, and whatever the
/// family throws.
FamilyConfiguration with_pattern(const JsonFile& config, PatternChoice pattern, std::optional<std::int32_t> window);

/// What the views and a window over the whole input both allow.
Views within_window(Views views, std::int32_t window);

/// Adds the group of sentences to C, Q and D, and its index is kSentences.
inline constexpr std::int32_t kSentences = 3;
void add_sentences(EncoderDescription& description);

}  // namespace relucent
