#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/word_step.h"

namespace relucent::analysis {
namespace {

bool is_indonesian_vowel(char16_t letter) {
  return std::u16string_view(u"aeiou").find(letter) != std::u16string_view::npos;
}

/// A word that loses affixes as long as it has more than two syllables.
class IndonesianWord {
 public:
  explicit IndonesianWord(std::u16string& word) : word_(word) {
    for (const char16_t letter : word) syllables_ += is_indonesian_vowel(letter) ? 1 : 0;
  }

  void stem() {
    if (long_enough() && ends_with_any(word_, {u"kah", u"lah", u"pun"})) drop_last(3);
    if (long_enough()) {
      if (ends_with_any(word_, {u"ku", u"mu"})) {
        drop_last(2);
      } else if (word_.ends_with(u"nya")) {
        drop_last(3);
      }
    }
    if (long_enough() && remove_first_prefix()) {
      if (long_enough() && remove_suffix() && long_enough()) remove_second_prefix();
    } else {
      if (long_enough()) remove_second_prefix();
      if (long_enough()) remove_suffix();
    }
  }

 private:
  enum Prefix : unsigned { ke = 1, peng = 2, di = 4, meng = 8, ter = 16, ber = 32, pe = 64 };

  bool long_enough() const { return syllables_ > 2; }
  bool had(unsigned prefixes) const { return (removed_ & prefixes) != 0; }
  bool has_vowel_at(std::size_t place) const { return word_.size() > place && is_indonesian_vowel(word_[place]); }

  bool drop_last(std::size_t units) {
    word_.erase(word_.size() - units);
    --syllables_;
    return true;
  }
  bool drop_first(std::size_t units, unsigned prefix) {
    word_.erase(0, units);
    --syllables_;
    removed_ |= prefix;
    return true;
  }
  /// The prefix has changed the word's first letter, which comes back.
  bool drop_first(std::size_t units, unsigned prefix, char16_t first) {
    word_[units] = first;
    return drop_first(units, prefix);
  }
  bool starts(std::u16string_view text) const { return word_.starts_with(text); }

  bool remove_first_prefix() {
    if (starts(u"meng")) return drop_first(4, meng);
    if (starts(u"meny") && has_vowel_at(4)) return drop_first(3, meng, u's');
    if (starts(u"men") || starts(u"mem")) return drop_first(3, meng);
    if (starts(u"me")) return drop_first(2, meng);
    if (starts(u"peng")) return drop_first(4, peng);
    if (starts(u"peny")) return has_vowel_at(4) ? drop_first(3, peng, u's') : drop_first(4, peng);
    if (starts(u"pen")) return has_vowel_at(3) ? drop_first(2, peng, u't') : drop_first(3, peng);
    if (starts(u"pem")) return drop_first(3, peng);
    if (starts(u"di")) return drop_first(2, di);
    if (starts(u"ter")) return drop_first(3, ter);
    if (starts(u"ke")) return drop_first(2, ke);
    return false;
  }

  bool remove_second_prefix() {
    if (starts(u"ber")) return drop_first(3, ber);
    if (word_ == u"belajar") return drop_first(3, ber);
    if (starts(u"be") && word_.size() > 4 && !is_indonesian_vowel(word_[2]) && word_[3] == u'e' && word_[4] == u'r') {
      return drop_first(2, ber);
    }
    if (starts(u"per")) return drop_first(3, 0);
    if (word_ == u"pelajar") return drop_first(3, 0);
    if (starts(u"pe")) return drop_first(2, pe);
    return false;
  }

  bool remove_suffix() {
    if (word_.ends_with(u"kan") && !had(ke | peng | pe)) return drop_last(3);
    if (word_.ends_with(u"an") && !had(di | meng | ter)) return drop_last(2);
    if (word_.ends_with(u'i') && !word_.ends_with(u"si") && !had(ber | ke | peng)) return drop_last(1);
    return false;
  }

  std::u16string& word_;
  int syllables_ = 0;
  unsigned removed_ = 0;
};

}  // namespace

void stem_indonesian(std::u16string& word) { IndonesianWord(word).stem(); }

}  // namespace relucent::analysis
