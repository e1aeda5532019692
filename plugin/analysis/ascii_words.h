#pragma once

#include <string_view>
#include <vector>

#include "plugin/analysis/word_segmenter.h"

namespace relucent::analysis {

/// The words of a stretch of ASCII that white space or the text's ends enclose: the part of the word rules that
/// ASCII can reach, written out. `offset` is added to the places.
void ascii_words(std::u16string_view text, std::size_t offset, std::vector<WordSpan>& words);
void ascii_words(std::string_view text, std::size_t offset, std::vector<WordSpan>& words);

}  // namespace relucent::analysis
