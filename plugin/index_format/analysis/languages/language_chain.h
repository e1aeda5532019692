#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/index_format/analysis/languages/word_cutter.h"
#include "plugin/index_format/analysis/token_chain.h"

namespace relucent::analysis {

/// The tokens of modern Lucene's analyzer of a language, on UTF-16.
class LanguageChain final : public TokenChain {
 public:
  /// Throws Error `internal`.
  explicit LanguageChain(AnalyzerKind language);

  void reset(std::u16string_view text) override;
  void rewind() override;
  bool next(ChainToken& token) override;
  std::int32_t end_increment() const override { return skipped_; }

 private:
  /// A character of the row of CJK characters from which bigrams are made.
  struct Character {
    char32_t code_point;
    WordSpan place;
  };

  bool next_word();
  bool next_with_bigrams();
  void add_to_row(WordSpan place);
  void take_from_row(std::size_t count);

  LanguageRules rules_;
  std::unique_ptr<WordCutter> cutter_;
  std::u16string divided_;  ///< the text, if joiners divide it
  std::u16string_view text_;
  std::vector<WordSpan> words_;
  std::vector<WordKind> kinds_;
  std::size_t next_word_ = 0;
  std::int32_t skipped_ = 0;
  std::u16string term_;
  WordSpan place_;  ///< of term_
  std::vector<Character> row_;
  std::size_t row_done_ = 0;  ///< of row_, characters that begin no further token
};

/// A chain of its own for each thread; of all analyzers that need no Lucene++: english, and those with language rules.
std::unique_ptr<TokenChain> make_chain(AnalyzerKind analyzer);
/// Whether make_chain() has it.
bool has_chain(AnalyzerKind analyzer);

}  // namespace relucent::analysis
