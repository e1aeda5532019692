#include "plugin/index_format/analysis/languages/letters.h"

#include <unicode/uchar.h>
#include <unicode/utf16.h>

#include <algorithm>

#include "plugin/index_format/analysis/lower_case.h"

namespace relucent::analysis {
namespace {

constexpr std::u16string_view kApostrophes = u"'\u2019";
constexpr char16_t kDotAbove = u'\u0307';

/// Whether the non-spacing marks at the beginning of `rest` include a dot above.
bool dot_follows(std::u16string_view rest) {
  for (std::size_t i = 0; i < rest.size();) {
    UChar32 c;
    U16_NEXT(rest.data(), i, rest.size(), c);
    if (u_charType(c) != U_NON_SPACING_MARK) return false;
    if (c == kDotAbove) return true;
  }
  return false;
}

// U+FF65 to U+FF9F.
constexpr std::u16string_view kFullKana =
    u"\u30FB\u30F2\u30A1\u30A3\u30A5\u30A7\u30A9\u30E3\u30E5\u30E7\u30C3\u30FC\u30A2\u30A4\u30A6\u30A8\u30AA\u30AB"
    u"\u30AD\u30AF\u30B1\u30B3\u30B5\u30B7\u30B9\u30BB\u30BD\u30BF\u30C1\u30C4\u30C6\u30C8\u30CA\u30CB\u30CC\u30CD"
    u"\u30CE\u30CF\u30D2\u30D5\u30D8\u30DB\u30DE\u30DF\u30E0\u30E1\u30E2\u30E4\u30E6\u30E8\u30E9\u30EA\u30EB\u30EC"
    u"\u30ED\u30EF\u30F3\u3099\u309A";
static_assert(kFullKana.size() == 0xFF9F - 0xFF65 + 1);
// The katakana that a voiced or half-voiced mark changes, and what it makes of them.
constexpr std::u16string_view kUnvoiced =
    u"\u30A6\u30AB\u30AD\u30AF\u30B1\u30B3\u30B5\u30B7\u30B9\u30BB\u30BD\u30BF\u30C1\u30C4\u30C6\u30C8\u30CF\u30D2"
    u"\u30D5\u30D8\u30DB\u30EF\u30F0\u30F1\u30F2\u30FD";
constexpr std::u16string_view kVoiced =
    u"\u30F4\u30AC\u30AE\u30B0\u30B2\u30B4\u30B6\u30B8\u30BA\u30BC\u30BE\u30C0\u30C2\u30C5\u30C7\u30C9\u30D0\u30D3"
    u"\u30D6\u30D9\u30DC\u30F7\u30F8\u30F9\u30FA\u30FE";
static_assert(kUnvoiced.size() == kVoiced.size());
constexpr std::u16string_view kHalfVoicedOf = u"\u30CF\u30D2\u30D5\u30D8\u30DB";

/// The letter with a half-width mark after it; 0 if they do not combine.
char16_t combined(char16_t letter, char16_t mark) {
  if (mark == u'\uFF9F') {
    return kHalfVoicedOf.find(letter) == std::u16string_view::npos ? char16_t{0} : static_cast<char16_t>(letter + 2);
  }
  const std::size_t place = kUnvoiced.find(letter);
  return place == std::u16string_view::npos ? char16_t{0} : kVoiced[place];
}

}  // namespace

void lower_case_turkish(std::u16string& word) {
  std::u16string with_i;
  with_i.reserve(word.size());
  bool after_i = false;  // only marks since a capital I that a dot follows
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t begin = i;
    UChar32 c;
    U16_NEXT(word.data(), i, word.size(), c);
    if (c == U'I') {
      after_i = dot_follows(std::u16string_view(word).substr(i));
      with_i += after_i ? u'i' : u'ı';
      continue;
    }
    after_i = after_i && u_charType(c) == U_NON_SPACING_MARK;
    if (!after_i || c != kDotAbove) with_i.append(word, begin, i - begin);
  }
  lower_case(with_i, word);
}

void cut_at_apostrophe(std::u16string& word) {
  const std::size_t place = word.find_first_of(kApostrophes);
  if (place != std::u16string::npos) word.resize(place);
}

void drop_article(std::u16string& word, std::u16string_view articles) {
  const std::size_t place = word.find_first_of(kApostrophes);
  if (place == std::u16string::npos) return;
  std::u16string article;
  lower_case(std::u16string_view(word).substr(0, place), article);
  if (articles.find(u' ' + article + u' ') != std::u16string_view::npos) word.erase(0, place + 1);
}

void fold_digits(std::u16string& word) {
  if (std::ranges::all_of(word, [](char16_t unit) { return unit < 0x80; })) return;
  std::u16string out;
  out.reserve(word.size());
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t begin = i;
    UChar32 c;
    U16_NEXT(word.data(), i, word.size(), c);
    if (c >= 0x80 && u_isdigit(c)) {
      out += static_cast<char16_t>(u'0' + u_charDigitValue(c));
    } else {
      out.append(word, begin, i - begin);
    }
  }
  word = std::move(out);
}

void fold_width(std::u16string& word) {
  std::size_t kept = 0;
  for (const char16_t unit : word) {
    char16_t by = unit;
    if (unit >= 0xFF01 && unit <= 0xFF5E) {
      by = static_cast<char16_t>(unit - 0xFEE0);
    } else if (unit >= 0xFF65 && unit <= 0xFF9F) {
      const char16_t whole = unit >= 0xFF9E && kept > 0 ? combined(word[kept - 1], unit) : char16_t{0};
      if (whole != 0) {
        word[kept - 1] = whole;
        continue;
      }
      by = kFullKana[static_cast<std::size_t>(unit - 0xFF65)];
    }
    word[kept++] = by;
  }
  word.resize(kept);
}

}  // namespace relucent::analysis
