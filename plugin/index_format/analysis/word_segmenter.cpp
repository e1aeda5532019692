#include "plugin/index_format/analysis/word_segmenter.h"

#include <unicode/rbbi.h>
#include <unicode/utext.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <new>

#include "base/require_memory.h"
#include "plugin/index_format/analysis/ascii_words.h"
#include "plugin/index_format/analysis/word_rules.h"
#include "relucent/error.h"

namespace relucent::analysis {
namespace {

// ICU takes 3.2 MiB to compile the rules and 2 KiB to copy them, and crashes where it cannot have them.
constexpr std::size_t kToCompile = std::size_t{8} << 20, kToCopy = std::size_t{64} << 10;

// The rules look ahead without limit (a run of joiners before an emoji). Working in blocks avoids quadratic time for
// hostile texts. A word is accepted only if the block holds kMaxWord units from its start, or the end of the text.
constexpr std::size_t kBlock = 1024;

void check(UErrorCode status, const char* what) {
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::internal, what, u_errorName(status), "check that ICU and its data are installed");
  }
}

const icu::RuleBasedBreakIterator& prototype() {
  static const icu::RuleBasedBreakIterator compiled = [] {
    require_memory(kToCompile);
    UErrorCode status = U_ZERO_ERROR;
    UParseError place;
    icu::RuleBasedBreakIterator iterator(icu::UnicodeString::fromUTF8(kWordRules), place, status);
    check(status, "compiling the word rules");
    return iterator;
  }();
  return compiled;
}

std::unique_ptr<icu::RuleBasedBreakIterator> copy_of_rules() {
  const icu::RuleBasedBreakIterator& compiled = prototype();
  require_memory(kToCopy);
  std::unique_ptr<icu::RuleBasedBreakIterator> copy(compiled.clone());
  if (!copy) throw std::bad_alloc();
  return copy;
}

WordKind kind_of(std::int32_t status) {
  switch (status) {
    case 600: return WordKind::hangul;
    case 500: return WordKind::katakana;
    case 200: return WordKind::han;
    case 100: return WordKind::hiragana;
    default: return WordKind::other;
  }
}

bool is_ascii_space(char16_t c) { return c == u' ' || (c >= u'\t' && c <= u'\r'); }
bool is_ascii(char16_t c) { return c < 0x80; }

}  // namespace

struct WordSegmenter::Rules {
  std::unique_ptr<icu::RuleBasedBreakIterator> iterator = copy_of_rules();
  UText text = UTEXT_INITIALIZER;

  ~Rules() { utext_close(&text); }

  void set(std::u16string_view units) {
    UErrorCode status = U_ZERO_ERROR;
    utext_openUChars(&text, units.data(), static_cast<std::int64_t>(units.size()), &status);
    iterator->setText(&text, status);
    check(status, "setting the text to cut into words");
  }

  /// Length and status of the first stretch of `units`.
  std::pair<std::size_t, std::int32_t> first(std::u16string_view units) {
    set(units);
    const auto end = static_cast<std::size_t>(iterator->next());
    return {end, iterator->getRuleStatus()};
  }
};

WordSegmenter::WordSegmenter() : rules_(std::make_unique<Rules>()) {}
WordSegmenter::~WordSegmenter() = default;
WordSegmenter::WordSegmenter(WordSegmenter&&) noexcept = default;

void WordSegmenter::segment_by_rules(std::u16string_view text, std::vector<WordSpan>& words) {
  std::size_t start = 0;  // of the next stretch
  while (start < text.size()) {
    std::size_t block_end = std::min(start + kBlock, text.size());
    const std::size_t base = start;
    rules_->set(text.substr(base, block_end - base));
    while (start < block_end && (block_end == text.size() || start + kMaxWord < block_end)) {
      std::size_t end = base + static_cast<std::size_t>(rules_->iterator->next());
      std::int32_t status = rules_->iterator->getRuleStatus();  // above 0: a word
      const bool too_long = end - start > kMaxWord;
      if (too_long) {
        std::size_t window = std::min(kMaxWord, text.size() - start);
        if (U16_IS_LEAD(text[start + window - 1])) --window;
        const auto [length, its_status] = rules_->first(text.substr(start, window));
        end = start + length;
        status = its_status;
      }
      if (status > 0) words.push_back({start, end});
      if (status > 0 && kinds_ != nullptr) kinds_->push_back(kind_of(status));
      start = end;
      if (too_long) break;  // the iterator now has the window's text
    }
  }
}

void WordSegmenter::segment(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds) {
  kinds.resize(words.size(), WordKind::other);
  kinds_ = &kinds;
  segment(text, words);
  kinds_ = nullptr;
}

void WordSegmenter::segment(std::u16string_view text, std::vector<WordSpan>& words) {
  // No word spans ASCII white space, so the stretches between white space are independent of each other.
  const std::size_t size = text.size();
  std::size_t start = 0;
  while (start < size) {
    const auto first_other =
        static_cast<std::size_t>(std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(),
                                                  [](char16_t c) { return is_ascii(c); }) -
                                 text.begin());
    std::size_t ascii_end = first_other;
    if (first_other < size) {
      while (ascii_end > start && !is_ascii_space(text[ascii_end - 1])) --ascii_end;
    }
    ascii_words(text.substr(start, ascii_end - start), start, words);
    if (kinds_ != nullptr) kinds_->resize(words.size(), WordKind::other);
    if (first_other >= size) return;
    // Apply the rules up to the next white space before a stretch of pure ASCII.
    std::size_t end = first_other;
    for (bool ascii = false; end < size;) {
      while (end < size && !is_ascii_space(text[end])) ++end;
      const std::size_t space = end;
      while (end < size && is_ascii_space(text[end])) ++end;
      ascii = true;
      for (std::size_t i = end; i < size && !is_ascii_space(text[i]); ++i) ascii = ascii && is_ascii(text[i]);
      if (ascii) {
        end = space;
        break;
      }
    }
    const std::size_t before = words.size();
    segment_by_rules(text.substr(ascii_end, end - ascii_end), words);
    for (std::size_t i = before; i < words.size(); ++i) {
      words[i].start += ascii_end;
      words[i].end += ascii_end;
    }
    start = end;
  }
}

}  // namespace relucent::analysis
