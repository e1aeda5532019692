#include "plugin/index_format/analysis/english_chain.h"

#include <algorithm>

#include "plugin/index_format/analysis/lower_case.h"
#include "plugin/index_format/analysis/porter_stemmer.h"

namespace relucent::analysis {
namespace {

// Lucene's English stop words, sorted.
constexpr std::u16string_view kStopWords[] = {
    u"a",   u"an",    u"and",  u"are",   u"as",    u"at",   u"be",   u"but", u"by",  u"for",  u"if",
    u"in",  u"into",  u"is",   u"it",    u"no",    u"not",  u"of",   u"on",  u"or",  u"such", u"that",
    u"the", u"their", u"then", u"there", u"these", u"they", u"this", u"to",  u"was", u"will", u"with"};
static_assert(std::size(kStopWords) == 33);
static_assert(std::ranges::is_sorted(kStopWords));
constexpr std::size_t kMaxStopWord = 5;

bool is_stop_word(std::u16string_view word) {
  return word.size() <= kMaxStopWord && std::ranges::binary_search(kStopWords, word);
}

bool is_possessive(std::u16string_view word) {
  if (word.size() < 2) return false;
  const char16_t mark = word[word.size() - 2], letter = word.back();
  return (mark == u'\'' || mark == u'\u2019' || mark == u'\uFF07') && (letter == u's' || letter == u'S');
}

}  // namespace

bool stem_unless_stop_word(std::u16string& word) {
  if (is_stop_word(word)) return false;
  word.resize(porter_stem(word.data(), word.size()));
  return true;
}

bool finish_word(std::u16string_view word, std::u16string& term) {
  if (is_possessive(word)) word.remove_suffix(2);
  lower_case(word, term);
  return stem_unless_stop_word(term);
}

void EnglishChain::reset(std::u16string_view text) {
  text_ = text;
  words_.clear();
  segmenter_.segment(text, words_);
  rewind();
}

void EnglishChain::rewind() {
  next_word_ = 0;
  skipped_ = 0;
}

bool EnglishChain::next(ChainToken& token) {
  while (next_word_ < words_.size()) {
    const WordSpan span = words_[next_word_++];
    if (!finish_word(text_.substr(span.start, span.end - span.start), term_)) {
      ++skipped_;
      continue;
    }
    token = {term_, span.start, span.end, skipped_ + 1};
    skipped_ = 0;
    return true;
  }
  return false;
}

}  // namespace relucent::analysis
