#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {

/// A token of the English chain; the term lies in the chain's buffer.
struct ChainToken {
  std::u16string_view term;
  std::size_t start = 0, end = 0;  ///< the word before stemming, in UTF-16 units of the text
  std::int32_t position_increment = 1;
};

/// Turns a word into a term: drops a possessive, converts to lower case, stems. Returns false for a stop word.
bool finish_word(std::u16string_view word, std::u16string& term);
/// The last two steps, for a word in lower case without a possessive.
bool stem_unless_stop_word(std::u16string& word);

/// Modern Lucene's EnglishAnalyzer on UTF-16: words, possessive, lower case, stop words, Porter. Reusable for many
/// texts; one object per thread.
class EnglishChain {
 public:
  /// Starts with `text`, which must stay valid until the last call of next().
  void reset(std::u16string_view text);
  /// Returns to the first token of the same text.
  void rewind();
  /// The next token; false at the end.
  bool next(ChainToken& token);
  /// The number of stop words after the last token, once next() has returned false.
  std::int32_t end_increment() const { return skipped_; }

 private:
  WordSegmenter segmenter_;
  std::u16string_view text_;
  std::vector<WordSpan> words_;
  std::size_t next_word_ = 0;
  std::int32_t skipped_ = 0;
  std::u16string term_;
};

}  // namespace relucent::analysis
