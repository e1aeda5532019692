#pragma once

#include <string>
#include <string_view>

namespace relucent::analysis {

// What happens to the letters of words before stop words are looked up, as in the filters of modern Lucene.

/// İ and I with a dot become i, other I become ı; otherwise lower_case().
void lower_case_turkish(std::u16string& word);
/// Removes the first apostrophe (' or ’) and what follows it.
void cut_at_apostrophe(std::u16string& word);
/// Removes an article and its apostrophe before a word: "l'eau". `articles` between blanks, in lower case.
void drop_article(std::u16string& word, std::u16string_view articles);
/// ASCII digits for those of all scripts.
void fold_digits(std::u16string& word);
/// ASCII for its full-width forms, and full kana for half-width ones.
void fold_width(std::u16string& word);

}  // namespace relucent::analysis
