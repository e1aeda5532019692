#include "index_tools/corpora/charset.h"

#include <unicode/ucnv.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "base/utf8.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr char16_t kNone = 0xFFFD;

struct SingleByteCodec {
  std::string_view name;
  const char16_t* upper;  // of bytes 0x80 to 0xFF
};
struct DoubleByteCodec {
  std::string_view name;
  const char* converter;  // ICU's, for pairs of bytes
  const char16_t* upper;  // of bytes 0x80 to 0xFF that are characters by themselves
};
struct PairDifference {
  std::string_view codec;
  unsigned first, last;  // pairs of bytes
  char16_t character;    // 0: none
};
struct CodecAlias {
  std::string_view alias, codec;
};

#include "index_tools/corpora/charset_tables.inc"

constexpr std::string_view kWideCodecs[] = {"utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"};
// Codecs decoded by ICU, with the closest converter if it has none of that name.
constexpr CodecAlias kIcuCodecs[] = {
    {"big5hkscs", "Big5-HKSCS"},       {"hz", "HZ-GB-2312"},
    {"iso2022_jp", "ISO-2022-JP"},     {"iso2022_jp_1", "ISO-2022-JP-1"},
    {"iso2022_jp_2", "ISO-2022-JP-2"}, {"iso2022_jp_2004", "ISO-2022-JP-2"},
    {"iso2022_jp_3", "ISO-2022-JP-2"}, {"iso2022_jp_ext", "ISO-2022-JP-2"},
    {"iso2022_kr", "ISO-2022-KR"},     {"utf_7", "UTF-7"},
    {"euc_jis_2004", "EUC-JP"},        {"euc_jisx0213", "EUC-JP"},
    {"shift_jis_2004", "Shift_JIS"},   {"shift_jisx0213", "Shift_JIS"},
};

unsigned byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

class IcuConverter {
 public:
  explicit IcuConverter(const char* name, bool skip_errors) {
    UErrorCode status = U_ZERO_ERROR;
    converter_.reset(::ucnv_open(name, &status));
    ::ucnv_setToUCallBack(converter_.get(), skip_errors ? UCNV_TO_U_CALLBACK_SKIP : UCNV_TO_U_CALLBACK_STOP, nullptr,
                          nullptr, nullptr, &status);
    if (U_FAILURE(status))
      throw Error(ErrorKind::unsupported, name, "ICU does not know this charset", "install ICU's data files");
  }

  // Nothing if a byte is malformed and errors are not skipped.
  std::optional<std::u16string> decode(std::string_view bytes) {
    UErrorCode status = U_ZERO_ERROR;
    std::u16string text(bytes.size() * 2 + 16, u'\0');
    ::ucnv_reset(converter_.get());
    const std::int32_t size = ::ucnv_toUChars(converter_.get(), text.data(), static_cast<std::int32_t>(text.size()),
                                              bytes.data(), static_cast<std::int32_t>(bytes.size()), &status);
    if (U_FAILURE(status)) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    return text;
  }

 private:
  std::unique_ptr<UConverter, void (*)(UConverter*)> converter_{nullptr, ::ucnv_close};
};

bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

bool is_one_character(std::u16string_view units) {
  return units.size() == (!units.empty() && is_surrogate(units[0]) ? 2 : 1);
}

std::string utf8_of(std::u16string_view units) {
  std::string text;
  for (std::size_t i = 0; i < units.size(); ++i) {
    char32_t c = units[i];
    if (is_surrogate(c)) {
      const bool pair = c < 0xDC00 && i + 1 < units.size() && units[i + 1] >= 0xDC00 && units[i + 1] <= 0xDFFF;
      if (!pair) continue;
      c = 0x10000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00u);
    }
    append_utf8(c, text);
  }
  return text;
}

std::string decode_single_byte(std::string_view bytes, const SingleByteCodec& codec) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned byte = byte_at(bytes, i);
    const char16_t c = byte < 0x80 ? static_cast<char16_t>(byte) : codec.upper[byte - 0x80];
    if (c != kNone) append_utf8(c, text);
  }
  return text;
}

// Characters of byte pairs that start with 0x80 or more, built once from ICU's converter and the differences.
class PairTable {
 public:
  PairTable(const DoubleByteCodec& codec, std::string_view differences, std::string_view prefix)
      : characters_(0x8000, kNone) {
    IcuConverter converter(codec.converter, false);
    const bool keeps_private = codec.name == "cp932" || codec.name == "gb18030";
    for (unsigned pair = 0x8000; pair <= 0xFFFF; ++pair) {
      std::string bytes(prefix);
      bytes += static_cast<char>(pair >> 8);
      bytes += static_cast<char>(pair & 0xFF);
      const auto text = converter.decode(bytes);
      if (!text || text->size() != 1) continue;
      const char16_t c = text->front();
      if (keeps_private || c < 0xE000 || c > 0xF8FF) characters_[pair - 0x8000] = c;
    }
    for (const PairDifference& difference : kPairDifferences) {
      if (difference.codec != differences) continue;
      for (unsigned pair = difference.first; pair <= difference.last; ++pair) {
        characters_[pair - 0x8000] = difference.character == 0 ? kNone : difference.character;
      }
    }
  }

  char16_t at(unsigned first, unsigned second) const { return characters_[(first << 8 | second) - 0x8000]; }

 private:
  std::vector<char16_t> characters_;
};

const PairTable& pairs_of(const DoubleByteCodec& codec) {
  static std::mutex mutex;
  static std::array<std::unique_ptr<PairTable>, std::size(kDoubleByteCodecs)> tables;
  const std::lock_guard lock(mutex);
  auto& table = tables[static_cast<std::size_t>(&codec - kDoubleByteCodecs)];
  if (table == nullptr) table = std::make_unique<PairTable>(codec, codec.name, "");
  return *table;
}

// EUC-JP's third character set, three bytes each.
const PairTable& euc_jp_after_8f(const DoubleByteCodec& codec) {
  static const PairTable table(codec, "euc_jp after 8F", "\x8F");
  return table;
}

std::string decode_double_byte(std::string_view bytes, const DoubleByteCodec& codec) {
  const PairTable& pairs = pairs_of(codec);
  const bool euc_jp = codec.name == "euc_jp", gb18030 = codec.name == "gb18030";
  std::optional<IcuConverter> four_bytes;
  std::string text;
  text.reserve(bytes.size() * 3 / 2);
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned byte = byte_at(bytes, i);
    if (byte < 0x80) {
      text += bytes[i++];
      continue;
    }
    if (codec.upper[byte - 0x80] != kNone) {
      append_utf8(codec.upper[byte - 0x80], text);
      ++i;
      continue;
    }
    if (i + 1 == bytes.size()) break;
    const unsigned second = byte_at(bytes, i + 1);
    if (euc_jp && byte == 0x8F) {
      if (i + 2 >= bytes.size()) break;
      const char16_t c = second < 0x80 ? kNone : euc_jp_after_8f(codec).at(second, byte_at(bytes, i + 2));
      if (c != kNone) append_utf8(c, text);
      i += c != kNone ? 3 : 1;
      continue;
    }
    if (gb18030 && second >= 0x30 && second <= 0x39) {
      if (i + 4 > bytes.size()) break;
      if (!four_bytes) four_bytes.emplace(codec.converter, false);
      const auto decoded = four_bytes->decode(bytes.substr(i, 4));
      const bool whole = decoded && is_one_character(*decoded);
      if (whole) text += utf8_of(*decoded);
      i += whole ? 4 : 1;
      continue;
    }
    const char16_t c = pairs.at(byte, second);
    if (c != kNone) append_utf8(c, text);
    i += c != kNone ? 2 : 1;
  }
  return text;
}

// Python's utf_16 and utf_32 without le or be look for a byte order mark and otherwise use the processor's byte order,
// assumed to be little-endian.
std::string decode_wide(std::string_view bytes, std::string_view codec) {
  const std::size_t unit = codec.starts_with("utf_16") ? 2 : 4;
  bool big = codec.ends_with("_be");
  const auto value_at = [&](std::size_t i, bool big_endian) {
    char32_t value = 0;
    for (std::size_t k = 0; k < unit; ++k) value = value << 8 | byte_at(bytes, i + (big_endian ? k : unit - 1 - k));
    return value;
  };
  std::size_t i = 0;
  if (!codec.ends_with("e") && bytes.size() >= unit) {
    big = value_at(0, true) == 0xFEFF;
    if (big || value_at(0, false) == 0xFEFF) i = unit;
  }
  std::string text;
  for (; i + unit <= bytes.size(); i += unit) {
    char32_t c = value_at(i, big);
    if (unit == 2 && c >= 0xD800 && c < 0xDC00 && i + 4 <= bytes.size()) {
      const char32_t low = value_at(i + 2, big);
      if (low >= 0xDC00 && low <= 0xDFFF) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
    }
    if (is_surrogate(c) || c > 0x10FFFF) continue;
    append_utf8(c, text);
  }
  return text;
}

// Like Python's encodings.normalize_encoding() and codecs.lookup().
std::string codec_of(std::string_view charset) {
  std::string name;
  bool gap = false;
  for (const char given : charset) {
    const char c = given >= 'A' && given <= 'Z' ? static_cast<char>(given - 'A' + 'a') : given;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      if (gap && !name.empty()) name += '_';
      gap = false;
      name += c;
    } else {
      gap = true;
    }
  }
  const auto found = std::find_if(std::begin(kCodecAliases), std::end(kCodecAliases),
                                  [&](const CodecAlias& alias) { return alias.alias == name; });
  return found == std::end(kCodecAliases) ? name : std::string(found->codec);
}

template <typename Table>
auto find_codec(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table), [&](const auto& codec) { return codec.name == name; });
}

}  // namespace

std::optional<std::string> decode_charset(std::string_view bytes, std::string_view charset) {
  const std::string codec = codec_of(charset);
  if (codec == "utf_8" || codec == "utf_8_sig") {
    if (codec == "utf_8_sig" && bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    std::string text(bytes);
    drop_malformed_utf8(text);
    return text;
  }
  if (const auto found = find_codec(kSingleByteCodecs, codec); found != std::end(kSingleByteCodecs)) {
    return decode_single_byte(bytes, *found);
  }
  if (const auto found = find_codec(kDoubleByteCodecs, codec); found != std::end(kDoubleByteCodecs)) {
    return decode_double_byte(bytes, *found);
  }
  if (std::find(std::begin(kWideCodecs), std::end(kWideCodecs), codec) != std::end(kWideCodecs)) {
    return decode_wide(bytes, codec);
  }
  for (const CodecAlias& known : kIcuCodecs) {
    if (known.alias == codec) return utf8_of(IcuConverter(known.codec.data(), true).decode(bytes).value_or(u""));
  }
  return std::nullopt;
}

}  // namespace relucent::index_tools
