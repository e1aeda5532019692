#include "plugin/index_format/analysis/languages/snowball.h"

#include <libstemmer.h>

#include <array>
#include <memory>
#include <new>
#include <string>

#include "relucent/error.h"

namespace relucent::analysis {
namespace {

/// How the library's stemmer of a language (version 2.2) is made to stem as the older one of Lucene 8. Some units stand
/// for others while the library works: a stemmer never removes or adds one in the middle, so that their order tells
/// afterwards which they were.
struct Setting {
  AnalyzerKind language;
  const char* name;
  const char* encoding;
  bool (*is_hidden)(char16_t unit);      ///< whether a placeholder stands for it
  std::array<char16_t, 2> placeholders;  ///< taken in turns, so that only equal neighbours look equal
};

bool none(char16_t) { return false; }

// The library counts bytes where Dutch demands that three letters stay, so it gets one byte per letter.
bool beyond_latin1(char16_t unit) { return unit > 0xFF; }

// Newer rules reduce double consonants, and drop a vowel after one, only for letters of the Latin alphabet; the older
// ones for everything but vowels. "q" and "w" are consonants without another role.
bool no_finnish_letter(char16_t unit) {
  return std::u16string_view(u"abcdefghijklmnoprstuvxyzäö").find(unit) == std::u16string_view::npos;
}

// Newer rules turn ё into е.
bool yo(char16_t unit) { return unit == u'ё'; }

constexpr Setting kSettings[] = {
    {AnalyzerKind::dutch, "dutch", "ISO_8859_1", beyond_latin1, {u'\1', u'\1'}},
    {AnalyzerKind::finnish, "finnish", "UTF_8", no_finnish_letter, {u'q', u'w'}},
    {AnalyzerKind::russian, "russian", "UTF_8", yo, {u'\1', u'\1'}},
    {AnalyzerKind::swedish, "swedish", "UTF_8", none, {}},
    {AnalyzerKind::turkish, "turkish", "UTF_8", none, {}},
};

const Setting& setting_of(AnalyzerKind language) {
  for (const Setting& each : kSettings) {
    if (each.language == language) return each;
  }
  throw Error(ErrorKind::internal, "Snowball", "no stemmer for this language");
}

class Stemmer {
 public:
  explicit Stemmer(const Setting& setting)
      : setting_(setting),
        one_byte_(setting.encoding != std::string_view("UTF_8")),
        stemmer_(sb_stemmer_new(setting.name, setting.encoding), sb_stemmer_delete) {
    if (stemmer_) return;
    throw Error(ErrorKind::internal, "Snowball", std::string("the library has no stemmer named ") + setting.name,
                "install Debian's libstemmer0d");
  }

  void stem(std::u16string& word) {
    hide(word);
    bytes_.clear();
    append_bytes(word);
    const auto* const stem = sb_stemmer_stem(stemmer_.get(), reinterpret_cast<const sb_symbol*>(bytes_.data()),
                                             static_cast<int>(bytes_.size()));
    if (stem == nullptr) throw std::bad_alloc();
    const int length = sb_stemmer_length(stemmer_.get());
    read_bytes({reinterpret_cast<const char*>(stem), static_cast<std::size_t>(length)}, word);
    show(word);
  }

 private:
  bool is_placeholder(char16_t unit) const {
    return unit == setting_.placeholders[0] || unit == setting_.placeholders[1];
  }

  void hide(std::u16string& word) {
    hidden_.clear();
    std::size_t which = 0;
    char16_t before = 0;
    for (char16_t& unit : word) {
      if (setting_.is_hidden(unit)) {
        if (unit != before) which = 1 - which;
        before = unit;
        hidden_ += unit;
        unit = setting_.placeholders.at(which);
      } else {
        before = 0;
      }
    }
  }

  void show(std::u16string& word) const {
    if (hidden_.empty()) return;
    std::size_t next = 0;
    for (char16_t& unit : word) {
      if (is_placeholder(unit) && next < hidden_.size()) unit = hidden_[next++];
    }
  }

  /// One unit after the other, so that the library counts units as Java does: half of a surrogate pair is a letter of
  /// its own (CESU-8).
  void append_bytes(std::u16string_view word) {
    for (const char16_t unit : word) {
      if (unit < 0x80 || one_byte_) {
        bytes_ += static_cast<char>(unit);
      } else if (unit < 0x800) {
        bytes_ += static_cast<char>(0xC0 | (unit >> 6));
        bytes_ += static_cast<char>(0x80 | (unit & 0x3F));
      } else {
        bytes_ += static_cast<char>(0xE0 | (unit >> 12));
        bytes_ += static_cast<char>(0x80 | ((unit >> 6) & 0x3F));
        bytes_ += static_cast<char>(0x80 | (unit & 0x3F));
      }
    }
  }

  void read_bytes(std::string_view bytes, std::u16string& word) const {
    word.clear();
    for (std::size_t i = 0; i < bytes.size();) {
      const auto byte = [&](std::size_t offset) { return static_cast<unsigned char>(bytes[i + offset]); };
      if (byte(0) < 0x80 || one_byte_) {
        word += static_cast<char16_t>(byte(0));
        i += 1;
      } else if (byte(0) < 0xE0) {
        word += static_cast<char16_t>((byte(0) & 0x1F) << 6 | (byte(1) & 0x3F));
        i += 2;
      } else {
        word += static_cast<char16_t>((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F));
        i += 3;
      }
    }
  }

  const Setting& setting_;
  const bool one_byte_;
  std::unique_ptr<sb_stemmer, decltype(&sb_stemmer_delete)> stemmer_;
  std::string bytes_;
  std::u16string hidden_;  ///< what the placeholders stand for, in order
};

}  // namespace

WordStep snowball_stemmer(AnalyzerKind language) {
  return [stemmer = std::make_shared<Stemmer>(setting_of(language))](std::u16string& word) {
    stemmer->stem(word);
    return true;
  };
}

}  // namespace relucent::analysis
