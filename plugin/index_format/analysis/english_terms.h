#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/index_format/analysis/term_source.h"
#include "plugin/index_format/analysis/word_segmenter.h"

namespace relucent::analysis {

/// The English chain for indexing. Produces the same terms and positions as EnglishChain, several times as fast: it
/// does not convert ASCII text to UTF-16, and it caches the terms of short words.
class EnglishTerms : public TermSource {
 public:
  EnglishTerms();
  std::span<const Term> terms_of(std::string_view text) override;

 private:
  static constexpr std::size_t kMaxLength = 24;

  /// The term of a short ASCII word.
  struct Known {
    std::array<char, kMaxLength> word{}, term{};  ///< in lower case; padded with zeros
    std::uint64_t hash = 0;                       ///< of the term
    std::uint8_t word_size = 0, term_size = 0;
    bool stop_word = false;
  };

  template <typename Character>
  void add_ascii_word(std::basic_string_view<Character> word);
  void add_any_word(std::u16string_view word);
  void learn(Known& place);

  std::vector<Known> known_;  // a direct-mapped cache: a word replaces the previous one in its slot
  WordSegmenter segmenter_;
  std::vector<WordSpan> words_;
  std::u16string units_, term_;
  std::string utf8_;
  std::vector<char> bytes_;  // of the terms
  std::size_t used_ = 0;
  std::vector<Term> terms_;
  std::int32_t skipped_ = 0;
};

}  // namespace relucent::analysis
