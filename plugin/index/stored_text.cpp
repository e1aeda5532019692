#include "relucent/stored_text.h"

#include <Field.h>

#include <unicode/utf8.h>

#include <algorithm>

#include "index/utf8_pieces.h"

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

namespace {

std::string text_of(const Lucene::FieldablePtr& stored) {
  if (!stored->isBinary()) return to_utf8(stored->stringValue());
  const Lucene::ByteArray bytes = stored->getBinaryValue();
  const std::int32_t length = stored->getBinaryLength();
  if (!bytes || length <= 0) return std::string();
  return well_formed_utf8({reinterpret_cast<const char*>(bytes.get()) + stored->getBinaryOffset(),
                           static_cast<std::size_t>(length)});
}

/// How many bytes at the end of `bytes` begin a character whose other bytes are still to come.
std::size_t incomplete_end(std::string_view bytes) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(3, bytes.size()); ++length) {
    const auto byte = static_cast<std::uint8_t>(bytes[bytes.size() - length]);
    if ((byte & 0xC0) == 0x80) continue;  // not the first byte of its character
    const std::size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return wanted > length ? length : 0;
  }
  return 0;
}

}  // namespace

void WellFormedText::add(std::string_view piece) {
  if (!rest_.empty()) {  // a few bytes of the piece complete it
    const std::size_t few = std::min<std::size_t>(3, piece.size());
    const std::string across = rest_ + std::string(piece.substr(0, few));
    const std::size_t rest = incomplete_end(across);
    text_ += well_formed_utf8(std::string_view(across).substr(0, across.size() - rest));
    rest_ = across.substr(across.size() - rest);
    piece.remove_prefix(few);
    if (piece.empty()) return;
    if (!rest_.empty()) return add(piece);
  }
  const std::size_t rest = incomplete_end(piece);
  text_ += well_formed_utf8(piece.substr(0, piece.size() - rest));
  rest_ = piece.substr(piece.size() - rest);
}

void WellFormedText::end() {
  text_ += well_formed_utf8(rest_);
  rest_.clear();
}

void begin_stored_value(std::optional<std::string>& text, std::size_t bytes) {
  if (!text) {
    text.emplace();
    text->reserve(bytes);
  } else if (!text->empty()) {
    *text += ' ';
  }
}

std::optional<std::string> stored_text(const Lucene::DocumentPtr& document, std::string_view field) {
  if (!document) return std::nullopt;
  std::optional<std::string> text;
  for (const auto& stored : document->getFieldables(to_lucene(field))) {
    std::string value = text_of(stored);
    begin_stored_value(text, 0);
    text->empty() ? *text = std::move(value) : *text += value;
  }
  return text;
}

std::optional<std::string> first_stored_text(const Lucene::DocumentPtr& document, std::string_view field) {
  if (!document) return std::nullopt;
  const Lucene::FieldablePtr stored = document->getFieldable(to_lucene(field));
  return stored ? std::optional(text_of(stored)) : std::nullopt;
}

}  // namespace relucent
