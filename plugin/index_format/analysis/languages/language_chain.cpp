#include "plugin/index_format/analysis/languages/language_chain.h"

#include <unicode/utf16.h>

#include <algorithm>

#include "plugin/index_format/analysis/english_chain.h"

namespace relucent::analysis {
namespace {

constexpr char16_t kNonJoiner = u'\u200C';

bool run_steps(const std::vector<WordStep>& steps, std::u16string& word) {
  return std::ranges::all_of(steps, [&word](const WordStep& step) { return step(word); });
}

void append(char32_t code_point, std::u16string& units) {
  if (code_point <= 0xFFFF) {
    units += static_cast<char16_t>(code_point);
  } else {
    units += U16_LEAD(code_point);
    units += U16_TRAIL(code_point);
  }
}

}  // namespace

LanguageChain::LanguageChain(AnalyzerKind language) : rules_(rules_of(language)), cutter_(make_word_cutter(rules_)) {}

void LanguageChain::reset(std::u16string_view text) {
  text_ = text;
  if (rules_.joiners_divide) {
    divided_ = text;
    std::ranges::replace(divided_, kNonJoiner, u' ');
    text_ = divided_;
  }
  cutter_->cut(text_, words_, kinds_);
  rewind();
}

void LanguageChain::rewind() {
  next_word_ = 0;
  skipped_ = 0;
  row_.clear();
  row_done_ = 0;
}

bool LanguageChain::next(ChainToken& token) {
  if (!(rules_.bigrams ? next_with_bigrams() : next_word())) return false;
  token = {term_, place_.start, place_.end, skipped_ + 1};
  skipped_ = 0;
  return true;
}

bool LanguageChain::next_word() {
  while (next_word_ < words_.size()) {
    place_ = words_[next_word_++];
    term_.assign(text_.substr(place_.start, place_.end - place_.start));
    if (run_steps(rules_.steps, term_)) return true;
    ++skipped_;
  }
  return false;
}

/// Adds the characters of term_, which lies at `place`. If they are as many units as the place has, each has its own.
void LanguageChain::add_to_row(WordSpan place) {
  const bool as_long = place.end - place.start == term_.size();
  for (std::size_t i = 0; i < term_.size();) {
    const std::size_t begin = i;
    UChar32 c;
    U16_NEXT(term_.data(), i, term_.size(), c);
    row_.push_back({static_cast<char32_t>(c), as_long ? WordSpan{place.start + begin, place.start + i} : place});
  }
}

/// Makes term_ of the next one or two characters.
void LanguageChain::take_from_row(std::size_t count) {
  term_.clear();
  for (std::size_t i = 0; i < count; ++i) append(row_[row_done_ + i].code_point, term_);
  place_ = {row_[row_done_].place.start, row_[row_done_ + count - 1].place.end};
  ++row_done_;
}

bool LanguageChain::next_with_bigrams() {
  for (;;) {
    const bool more = next_word_ < words_.size();
    const bool cjk = more && kinds_[next_word_] != WordKind::other;
    const std::size_t waiting = row_.size() - row_done_;
    const bool continues = cjk && !row_.empty() && words_[next_word_].start == words_[next_word_ - 1].end;
    if (waiting >= 2) {
      take_from_row(2);
    } else if (waiting == 1 && row_done_ == 0 && !continues) {
      take_from_row(1);  // alone
    } else if (!more) {
      return false;
    } else {
      place_ = words_[next_word_];
      term_.assign(text_.substr(place_.start, place_.end - place_.start));
      run_steps(rules_.steps, term_);
      if (!continues) {
        row_.clear();
        row_done_ = 0;
      } else if (row_done_ > 0) {  // keeps the last character, which begins the next bigram
        row_.erase(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(row_done_));
        row_done_ = 0;
      }
      ++next_word_;
      if (cjk) {
        add_to_row(place_);
        continue;
      }
    }
    if (run_steps(rules_.after_bigrams, term_)) return true;
    ++skipped_;
  }
}

bool has_chain(AnalyzerKind analyzer) { return analyzer == AnalyzerKind::english || has_language_rules(analyzer); }

std::unique_ptr<TokenChain> make_chain(AnalyzerKind analyzer) {
  if (analyzer == AnalyzerKind::english) return std::make_unique<EnglishChain>();
  return std::make_unique<LanguageChain>(analyzer);
}

}  // namespace relucent::analysis
