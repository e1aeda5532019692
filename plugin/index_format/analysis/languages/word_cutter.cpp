#include "plugin/index_format/analysis/languages/word_cutter.h"

#include <unicode/brkiter.h>
#include <unicode/uniset.h>
#include <unicode/utext.h>
#include <unicode/utf16.h>

#include "base/require_memory.h"
#include "relucent/error.h"

namespace relucent::analysis {
namespace {

// Several times what ICU takes to open rules or properties; it may crash where it cannot have that.
constexpr std::size_t kToOpen = std::size_t{1} << 20;

void check_icu(UErrorCode status, const char* operation) {
  if (U_SUCCESS(status)) return;
  throw Error(ErrorKind::internal, operation, u_errorName(status), "check that ICU and its data are installed");
}

class ByRules final : public WordCutter {
 public:
  void cut(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds) override {
    words.clear();
    kinds.clear();
    segmenter_.segment(text, words, kinds);
  }

 private:
  WordSegmenter segmenter_;
};

/// Java 17's letters: those of Unicode 13.
const icu::UnicodeSet& letters() {
  static const icu::UnicodeSet set = [] {
    require_memory(kToOpen);
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet found(u"[[:L:]&[:age=13.0:]]", status);
    check_icu(status, "reading the properties of letters");
    found.freeze();
    return found;
  }();
  return set;
}

class ByLetters final : public WordCutter {
 public:
  void cut(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds) override {
    words.clear();
    std::size_t start = 0, end = 0;  // of the current word
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t begin = i;
      UChar32 c;
      U16_NEXT(text.data(), i, text.size(), c);
      const bool letter = letters_.contains(c);
      if (start < end && (!letter || end - start >= kMaxWord)) {
        words.push_back({start, end});
        start = end = 0;
      }
      if (!letter) continue;
      if (start == end) start = begin;
      end = i;
    }
    if (start < end) words.push_back({start, end});
    kinds.assign(words.size(), WordKind::other);
  }

 private:
  const icu::UnicodeSet& letters_ = letters();
};

class ByDictionary final : public WordCutter {
 public:
  explicit ByDictionary(const char* locale) {
    require_memory(kToOpen);
    UErrorCode status = U_ZERO_ERROR;
    iterator_.reset(icu::BreakIterator::createWordInstance(icu::Locale(locale), status));
    check_icu(status, "opening the dictionary of words");
  }
  ~ByDictionary() override { utext_close(&text_); }
  ByDictionary(const ByDictionary&) = delete;
  ByDictionary& operator=(const ByDictionary&) = delete;

  void cut(std::u16string_view text, std::vector<WordSpan>& words, std::vector<WordKind>& kinds) override {
    words.clear();
    UErrorCode status = U_ZERO_ERROR;
    utext_openUChars(&text_, text.data(), static_cast<std::int64_t>(text.size()), &status);
    iterator_->setText(&text_, status);
    check_icu(status, "setting the text to cut into words");
    auto start = static_cast<std::size_t>(iterator_->first());
    for (std::int32_t next = iterator_->next(); next != icu::BreakIterator::DONE; next = iterator_->next()) {
      const auto end = static_cast<std::size_t>(next);
      UChar32 first;
      U16_GET(text.data(), std::size_t{0}, start, text.size(), first);
      for (std::size_t part = start; u_isalnum(first) && part < end;) {
        std::size_t part_end = std::min(end, part + kMaxWord);
        if (part_end < end && U16_IS_LEAD(text[part_end - 1])) --part_end;
        words.push_back({part, part_end});
        part = part_end;
      }
      start = end;
    }
    kinds.assign(words.size(), WordKind::other);
  }

 private:
  std::unique_ptr<icu::BreakIterator> iterator_;
  UText text_ = UTEXT_INITIALIZER;
};

}  // namespace

std::unique_ptr<WordCutter> make_word_cutter(const LanguageRules& rules) {
  switch (rules.cutting) {
    case Cutting::letters: return std::make_unique<ByLetters>();
    case Cutting::dictionary: return std::make_unique<ByDictionary>(rules.locale);
    case Cutting::words: break;
  }
  return std::make_unique<ByRules>();
}

}  // namespace relucent::analysis
