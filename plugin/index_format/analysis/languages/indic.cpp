#include <algorithm>
#include <span>
#include <vector>

#include "plugin/index_format/analysis/languages/light_stemmers.h"
#include "plugin/index_format/analysis/languages/word_step.h"

namespace relucent::analysis {
namespace {

// The scripts' blocks of 128 code points, whose letters have the same places.
constexpr char16_t kFirstBlock = 0x0900, kLastBlock = 0x0D00, kBlockSize = 0x80;
enum Script : unsigned {
  deva = 1 << 0,
  beng = 1 << 1,
  guru = 1 << 2,
  gujr = 1 << 3,
  orya = 1 << 4,
  taml = 1 << 5,
  telu = 1 << 6,
  knda = 1 << 7,
  mlym = 1 << 8,
};
constexpr char16_t kNone = 0xFFFF, kJoiner = 0xFF;  // U+200D

/// Two or three code points that look like one, as places in a block.
struct Composition {
  char16_t first, second, third, by;
  unsigned scripts;
};

// Unicode 5.2, chapter 6 (South Asian scripts), and http://ldc.upenn.edu/myl/IndianScriptsUnicode.html. The first one
// that fits counts.
constexpr Composition kCompositions[] = {
    {0x05, 0x3E, 0x45, 0x11, deva | gujr},
    {0x05, 0x3E, 0x46, 0x12, deva},
    {0x05, 0x3E, 0x47, 0x13, deva | gujr},
    {0x05, 0x3E, 0x48, 0x14, deva | gujr},
    {0x05, 0x3E, kNone, 0x06, deva | beng | guru | gujr | orya},
    {0x05, 0x45, kNone, 0x72, deva},
    {0x05, 0x45, kNone, 0x0D, gujr},
    {0x05, 0x46, kNone, 0x04, deva},
    {0x05, 0x47, kNone, 0x0F, gujr},
    {0x05, 0x48, kNone, 0x10, guru | gujr},
    {0x05, 0x49, kNone, 0x11, deva | gujr},
    {0x05, 0x4A, kNone, 0x12, deva},
    {0x05, 0x4B, kNone, 0x13, deva | gujr},
    {0x05, 0x4C, kNone, 0x14, deva | guru | gujr},
    {0x06, 0x45, kNone, 0x11, deva | gujr},
    {0x06, 0x46, kNone, 0x12, deva},
    {0x06, 0x47, kNone, 0x13, deva | gujr},
    {0x06, 0x48, kNone, 0x14, deva | gujr},
    {0x07, 0x57, kNone, 0x08, mlym},
    {0x09, 0x41, kNone, 0x0A, deva},
    {0x09, 0x57, kNone, 0x0A, taml | mlym},
    {0x0E, 0x46, kNone, 0x10, mlym},
    {0x0F, 0x45, kNone, 0x0D, deva},
    {0x0F, 0x46, kNone, 0x0E, deva},
    {0x0F, 0x47, kNone, 0x10, deva},
    {0x0F, 0x57, kNone, 0x10, orya},
    {0x12, 0x3E, kNone, 0x13, mlym},
    {0x12, 0x4C, kNone, 0x14, telu | knda},
    {0x12, 0x55, kNone, 0x13, telu},
    {0x12, 0x57, kNone, 0x14, taml | mlym},
    {0x13, 0x57, kNone, 0x14, orya},
    {0x15, 0x3C, kNone, 0x58, deva},
    {0x16, 0x3C, kNone, 0x59, deva | guru},
    {0x17, 0x3C, kNone, 0x5A, deva | guru},
    {0x1C, 0x3C, kNone, 0x5B, deva | guru},
    {0x21, 0x3C, kNone, 0x5C, deva | beng | orya},
    {0x22, 0x3C, kNone, 0x5D, deva | beng | orya},
    {0x23, 0x4D, kJoiner, 0x7A, mlym},
    {0x24, 0x4D, kJoiner, 0x4E, beng},
    {0x28, 0x3C, kNone, 0x29, deva},
    {0x28, 0x4D, kJoiner, 0x7B, mlym},
    {0x2B, 0x3C, kNone, 0x5E, deva | guru},
    {0x2F, 0x3C, kNone, 0x5F, deva | beng},
    {0x2C, 0x41, 0x41, 0x0B, telu},
    {0x30, 0x3C, kNone, 0x31, deva},
    {0x30, 0x4D, kJoiner, 0x7C, mlym},
    {0x32, 0x4D, kJoiner, 0x7D, mlym},
    {0x33, 0x3C, kNone, 0x34, deva},
    {0x33, 0x4D, kJoiner, 0x7E, mlym},
    {0x35, 0x41, kNone, 0x2E, telu},
    {0x3E, 0x45, kNone, 0x49, deva | gujr},
    {0x3E, 0x46, kNone, 0x4A, deva},
    {0x3E, 0x47, kNone, 0x4B, deva | gujr},
    {0x3E, 0x48, kNone, 0x4C, deva | gujr},
    {0x3F, 0x55, kNone, 0x40, knda},
    {0x41, 0x41, kNone, 0x42, guru},
    {0x46, 0x3E, kNone, 0x4A, taml | mlym},
    {0x46, 0x42, 0x55, 0x4B, knda},
    {0x46, 0x42, kNone, 0x4A, knda},
    {0x46, 0x46, kNone, 0x48, mlym},
    {0x46, 0x55, kNone, 0x47, telu | knda},
    {0x46, 0x56, kNone, 0x48, telu | knda},
    {0x46, 0x57, kNone, 0x4C, taml | mlym},
    {0x47, 0x3E, kNone, 0x4B, beng | orya | taml | mlym},
    {0x47, 0x57, kNone, 0x4C, beng | orya},
    {0x4A, 0x55, kNone, 0x4B, knda},
    {0x72, 0x3F, kNone, 0x07, guru},
    {0x72, 0x40, kNone, 0x08, guru},
    {0x72, 0x47, kNone, 0x0F, guru},
    {0x73, 0x41, kNone, 0x09, guru},
    {0x73, 0x42, kNone, 0x0A, guru},
    {0x73, 0x4B, kNone, 0x13, guru},
};

/// The block's first code point; 0 outside of the scripts.
char16_t block_of(char16_t unit) {
  const auto block = static_cast<char16_t>(unit - unit % kBlockSize);
  return block >= kFirstBlock && block <= kLastBlock ? block : char16_t{0};
}

/// Removes the longest ending that leaves at least two units; `endings` from long to short.
void remove_ending(std::u16string& word, std::span<const std::u16string_view> endings) {
  for (const std::u16string_view ending : endings) {
    if (word.size() > ending.size() + 1 && word.ends_with(ending)) {
      word.resize(word.size() - ending.size());
      return;
    }
  }
}

constexpr std::u16string_view kHindiEndings[] = {
    // 5 units
    u"ाएंगी",
    u"ाएंगे",
    u"ाऊंगी",
    u"ाऊंगा",
    u"ाइयाँ",
    u"ाइयों",
    u"ाइयां",
    // 4 units
    u"ाएगी",
    u"ाएगा",
    u"ाओगी",
    u"ाओगे",
    u"एंगी",
    u"ेंगी",
    u"एंगे",
    u"ेंगे",
    u"ूंगी",
    u"ूंगा",
    u"ातीं",
    u"नाओं",
    u"नाएं",
    u"ताओं",
    u"ताएं",
    u"ियाँ",
    u"ियों",
    u"ियां",
    // 3 units
    u"ाकर",
    u"ाइए",
    u"ाईं",
    u"ाया",
    u"ेगी",
    u"ेगा",
    u"ोगी",
    u"ोगे",
    u"ाने",
    u"ाना",
    u"ाते",
    u"ाती",
    u"ाता",
    u"तीं",
    u"ाओं",
    u"ाएं",
    u"ुओं",
    u"ुएं",
    u"ुआं",
    // 2 units
    u"कर",
    u"ाओ",
    u"िए",
    u"ाई",
    u"ाए",
    u"ने",
    u"नी",
    u"ना",
    u"ते",
    u"ीं",
    u"ती",
    u"ता",
    u"ाँ",
    u"ां",
    u"ों",
    u"ें",
    // 1 units
    u"ो",
    u"े",
    u"ू",
    u"ु",
    u"ी",
    u"ि",
    u"ा",
};

constexpr std::u16string_view kBengaliEndings[] = {
    // 8 units
    u"িয়াছিলাম",
    u"িতেছিলাম",
    u"িতেছিলেন",
    u"ইতেছিলেন",
    u"িয়াছিলেন",
    u"ইয়াছিলেন",
    // 7 units
    u"িতেছিলি",
    u"িতেছিলে",
    u"িয়াছিলা",
    u"িয়াছিলে",
    u"িতেছিলা",
    u"িয়াছিলি",
    u"য়েদেরকে",
    // 6 units
    u"িতেছিস",
    u"িতেছেন",
    u"িয়াছিস",
    u"িয়াছেন",
    u"েছিলাম",
    u"েছিলেন",
    u"েদেরকে",
    // 5 units
    u"িতেছি",
    u"িতেছা",
    u"িতেছে",
    u"ছিলাম",
    u"ছিলেন",
    u"িয়াছি",
    u"িয়াছা",
    u"িয়াছে",
    u"েছিলে",
    u"েছিলা",
    u"য়েদের",
    u"দেরকে",
    // 4 units
    u"িলাম",
    u"িলেন",
    u"িতাম",
    u"িতেন",
    u"িবেন",
    u"ছিলি",
    u"ছিলে",
    u"ছিলা",
    u"তেছে",
    u"িতেছ",
    u"খানা",
    u"খানি",
    u"গুলো",
    u"গুলি",
    u"য়েরা",
    u"েদের",
    // 3 units
    u"লাম",
    u"িলি",
    u"ইলি",
    u"িলে",
    u"ইলে",
    u"লেন",
    u"িলা",
    u"ইলা",
    u"তাম",
    u"িতি",
    u"ইতি",
    u"িতে",
    u"ইতে",
    u"তেন",
    u"িতা",
    u"িবা",
    u"ইবা",
    u"িবি",
    u"ইবি",
    u"বেন",
    u"িবে",
    u"ইবে",
    u"ছেন",
    u"য়োন",
    u"য়ের",
    u"েরা",
    u"দের",
    // 2 units
    u"িস",
    u"েন",
    u"লি",
    u"লে",
    u"লা",
    u"তি",
    u"তে",
    u"তা",
    u"বি",
    u"বে",
    u"বা",
    u"ছি",
    u"ছা",
    u"ছে",
    u"ুন",
    u"ুক",
    u"টা",
    u"টি",
    u"নি",
    u"ের",
    u"রা",
    u"কে",
    // 1 units
    u"ি",
    u"ী",
    u"া",
    u"ো",
    u"ে",
    u"ব",
    u"ত",
};

/// The word while normalize_bengali() reads and changes it.
class BengaliWord {
 public:
  explicit BengaliWord(std::u16string& word) : word_(word) {}

  void normalize() {
    for (place_ = 0; place_ < size(); ++place_) step();
  }

 private:
  static constexpr char16_t kVirama = u'\u09CD', kYa = u'\u09AF', kBa = u'\u09AC', kVisarga = u'\u0983';

  std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(word_.size()); }
  /// The unit at a distance from the current one; 0 outside of the word.
  char16_t at(std::ptrdiff_t distance) const {
    const std::ptrdiff_t place = place_ + distance;
    return place >= 0 && place < size() ? word_[static_cast<std::size_t>(place)] : char16_t{0};
  }
  void set(std::ptrdiff_t distance, char16_t unit) { word_[static_cast<std::size_t>(place_ + distance)] = unit; }
  void remove(std::ptrdiff_t distance) { word_.erase(static_cast<std::size_t>(place_ + distance), 1); }

  void step() {
    switch (at(0)) {
      case u'\u0981': return remove_here();  // candrabindu
      case u'\u0995': return kssa();
      case kYa: return ya();
      case kBa: return ba();
      case kVisarga: return visarga();
      default: break;
    }
    constexpr std::u16string_view from = u"\u09C0\u09C2\u0999\u09B6\u09B7\u09A3\u09DC\u09DD\u09CE";
    constexpr std::u16string_view to = u"\u09BF\u09C1\u0982\u09B8\u09B8\u09A8\u09B0\u09B0\u09A4";
    const std::size_t found = from.find(at(0));
    if (found != std::u16string_view::npos) set(0, to[found]);
  }

  void remove_here() {
    remove(0);
    --place_;
  }

  /// Ka, virama and (as Lucene has it) the vowel sign i become kha.
  void kssa() {
    if (at(1) != kVirama || at(2) != u'\u09BF') return;
    remove(2);
    if (place_ == 0) remove(1);
    set(place_ == 0 ? 0 : 1, u'\u0996');
  }

  /// Ya after a virama behind the word's first letter becomes the vowel sign e, without an aa; any other goes with
  /// its virama.
  void ya() {
    if (place_ == 2 && at(-1) == kVirama) {
      set(-1, u'\u09C7');
      if (at(1) == u'\u09BE') remove(1);
      return remove_here();
    }
    if (at(-1) != kVirama) return;
    remove(0);
    remove(-1);
    place_ -= 2;
  }

  void ba() {
    if (place_ == 0 || at(-1) != kVirama) return;
    if (place_ == 2 || (place_ >= 5 && at(-3) == kVirama)) {
      remove(0);
      remove(-1);
      place_ -= 2;
    } else if (place_ >= 2) {
      set(-1, at(-2));
      remove_here();
    }
  }

  void visarga() {
    if (place_ + 1 < size()) {
      set(0, at(1));
    } else if (size() <= 3) {
      set(0, u'\u09B9');
    } else {
      remove(0);
    }
  }

  std::u16string& word_;
  std::ptrdiff_t place_ = 0;
};

}  // namespace

void normalize_indic(std::u16string& word) {
  for (std::size_t i = 0; i + 1 < word.size(); ++i) {
    const char16_t block = block_of(word[i]);
    if (block == 0 || block_of(word[i + 1]) != block) continue;
    const auto place_of = [&](std::size_t unit) { return static_cast<char16_t>(word[unit] - block); };
    char16_t third = kNone;
    if (i + 2 < word.size()) {
      if (word[i + 2] == u'\u200D') {
        third = kJoiner;
      } else if (block_of(word[i + 2]) == block) {
        third = place_of(i + 2);
      }
    }
    const unsigned script = 1U << ((block - kFirstBlock) / kBlockSize);
    for (const Composition& each : kCompositions) {
      if (each.first != place_of(i) || each.second != place_of(i + 1) || (each.scripts & script) == 0) continue;
      if (each.third != kNone && each.third != third) continue;
      word[i] = static_cast<char16_t>(block + each.by);
      word.erase(i + 1, each.third == kNone ? 1 : 2);
      break;
    }
  }
}

void normalize_hindi(std::u16string& word) {
  // "n" without a vowel, and candrabindu, are written as anusvara.
  for (std::size_t i = 0; i + 1 < word.size(); ++i) {
    if (word[i] == u'\u0928' && word[i + 1] == u'\u094D') {
      word[i] = u'\u0902';
      word.erase(i + 1, 1);
    }
  }
  remove_units(word, u"\u093C\u200C\u200D\u094D");  // nukta, joiners, virama
  // Letters without their nukta, one length of vowels.
  replace_units(word,
                u"\u0901\u0929\u0931\u0934\u0958\u0959\u095A\u095B\u095C\u095D\u095E\u095F\u0945\u0946\u0949\u094A"
                u"\u090D\u090E\u0911\u0912\u0972\u0906\u0908\u090A\u0960\u0961\u0910\u0914\u0940\u0942\u0944\u0963"
                u"\u0948\u094C",
                u"\u0902\u0928\u0930\u0933\u0915\u0916\u0917\u091C\u0921\u0922\u092B\u092F\u0947\u0947\u094B\u094B"
                u"\u090F\u090F\u0913\u0913\u0905\u0905\u0907\u0909\u090B\u090C\u090F\u0913\u093F\u0941\u0943\u0962"
                u"\u0947\u094B");
}

void stem_hindi(std::u16string& word) { remove_ending(word, kHindiEndings); }

void normalize_bengali(std::u16string& word) { BengaliWord(word).normalize(); }

void stem_bengali(std::u16string& word) { remove_ending(word, kBengaliEndings); }

}  // namespace relucent::analysis
