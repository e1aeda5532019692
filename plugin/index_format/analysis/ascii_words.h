#pragma once

#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {

/// Appends the words of a stretch of ASCII bounded on each side by white space or an end of the text.
/// Implements the subset of kWordRules that applies to ASCII. Adds `offset` to the positions.
void ascii_words(std::u16string_view text, std::size_t offset, std::vector<WordSpan>& words);
void ascii_words(std::string_view text, std::size_t offset, std::vector<WordSpan>& words);

}  // namespace relucent::analysis
