#include "relucent/stored_text.h"

#include <Field.h>

#include <unicode/utf8.h>

namespace relucent {
namespace {

constexpr UChar32 kReplacement = 0xFFFD;

bool is_scalar(UChar32 c) { return c >= 0 && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF); }

void append(std::string& utf8, UChar32 c) {
  char bytes[4];
  std::size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  utf8.append(bytes, length);
}

}  // namespace

std::string well_formed_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::string out;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t first = i;
    UChar32 c;
    U8_NEXT(bytes, i, text.size(), c);
    if (c >= 0) continue;
    out.append(text.substr(copied, first - copied));
    append(out, kReplacement);
    copied = i;
  }
  out.append(text.substr(copied));
  return out;
}

Lucene::String to_lucene(std::string_view utf8) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data());
  Lucene::String text;
  text.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    UChar32 c;
    U8_NEXT(bytes, i, utf8.size(), c);
    // Lucene++ ends its buffers with U+FFFF and drops a text that contains it.
    text.push_back(static_cast<wchar_t>(c < 0 || c == 0xFFFF ? kReplacement : c));
  }
  return text;
}

std::string to_utf8(const Lucene::String& text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const wchar_t unit : text) {
    const auto c = static_cast<UChar32>(unit);
    append(utf8, is_scalar(c) ? c : kReplacement);
  }
  return utf8;
}

std::optional<std::string> stored_text(const Lucene::DocumentPtr& document, std::string_view field) {
  if (!document) return std::nullopt;
  const Lucene::FieldablePtr stored = document->getFieldable(to_lucene(field));
  if (!stored) return std::nullopt;
  if (!stored->isBinary()) return to_utf8(stored->stringValue());
  const Lucene::ByteArray bytes = stored->getBinaryValue();
  const std::int32_t length = stored->getBinaryLength();
  if (!bytes || length <= 0) return std::string();
  return well_formed_utf8({reinterpret_cast<const char*>(bytes.get()) + stored->getBinaryOffset(),
                           static_cast<std::size_t>(length)});
}

}  // namespace relucent
