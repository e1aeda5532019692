#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/token_chain.h"
#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {

/// Turns a word into a term: drops a possessive, converts to lower case, stems. Returns false for a stop word.
bool finish_word(std::u16string_view word, std::u16string& term);
/// The last two steps, for a word in lower case without a possessive.
bool stem_unless_stop_word(std::u16string& word);

/// Modern Lucene's EnglishAnalyzer on UTF-16: words, possessive, lower case, stop words, Porter.
class EnglishChain final : public TokenChain {
 public:
  void reset(std::u16string_view text) override;
  void rewind() override;
  bool next(ChainToken& token) override;
  std::int32_t end_increment() const override { return skipped_; }

 private:
  WordSegmenter segmenter_;
  std::u16string_view text_;
  std::vector<WordSpan> words_;
  std::size_t next_word_ = 0;
  std::int32_t skipped_ = 0;
  std::u16string term_;
};

}  // namespace relucent::analysis
