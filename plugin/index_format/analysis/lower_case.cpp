#include "plugin/index_format/analysis/lower_case.h"

#include <unicode/uchar.h>
#include <unicode/utf16.h>

namespace relucent::analysis {

void lower_case(std::u16string_view word, std::u16string& lower) {
  lower.clear();
  for (std::size_t i = 0; i < word.size();) {
    const char16_t unit = word[i];
    if (unit < 0x80) {
      lower.push_back(unit >= u'A' && unit <= u'Z' ? static_cast<char16_t>(unit + 32) : unit);
      ++i;
      continue;
    }
    UChar32 c;
    U16_NEXT(word.data(), i, word.size(), c);
    c = u_tolower(c);
    if (c <= 0xFFFF) {
      lower.push_back(static_cast<char16_t>(c));
    } else {
      lower.push_back(U16_LEAD(c));
      lower.push_back(U16_TRAIL(c));
    }
  }
}

}  // namespace relucent::analysis
