#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/languages/language_rules.h"
#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {

/// Cuts texts into the words of a language. One object per thread.
class WordCutter {
 public:
  virtual ~WordCutter() = default;
  /// Replaces the contents of `words` and `kinds` by those of the text's words in order.
  virtual void cut(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds) = 0;
};

/// Throws Error `internal` if ICU lacks the dictionary or its data.
std::unique_ptr<WordCutter> make_word_cutter(const LanguageRules& rules);

}  // namespace relucent::analysis
