#include "relucent/stored_text.h"

#include <Field.h>

#include <algorithm>

#include "base/utf8.h"
#include "plugin/lucene/utf8_pieces.h"

namespace relucent {

std::string well_formed_utf8(std::string_view text) {
  std::string copy(text);
  replace_malformed_utf8(copy);
  return copy;
}

Lucene::String to_lucene(std::string_view utf8) {
  Lucene::String text;
  text.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size();) {
    const char32_t c = next_code_point(utf8, i);
    // Lucene++ ends its buffers with U+FFFF and drops a text that contains it.
    text.push_back(static_cast<wchar_t>(c == 0xFFFF ? kReplacementCharacter : c));
  }
  return text;
}

std::string to_utf8(const Lucene::String& text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const wchar_t unit : text) append_utf8(static_cast<char32_t>(unit), utf8);
  return utf8;
}

namespace {

std::string text_of(const Lucene::FieldablePtr& stored) {
  if (!stored->isBinary()) return to_utf8(stored->stringValue());
  const Lucene::ByteArray bytes = stored->getBinaryValue();
  const std::int32_t length = stored->getBinaryLength();
  if (!bytes || length <= 0) return std::string();
  return well_formed_utf8(
      {reinterpret_cast<const char*>(bytes.get()) + stored->getBinaryOffset(), static_cast<std::size_t>(length)});
}

/// The number of bytes at the end of `bytes` that begin an incomplete character.
std::size_t incomplete_end(std::string_view bytes) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(3, bytes.size()); ++length) {
    const std::size_t at = bytes.size() - length;
    if (!is_utf8_continuation(bytes[at])) return decode_utf8(bytes, at).well_formed ? 0 : length;
  }
  return 0;
}

}  // namespace

void WellFormedText::add(std::string_view piece) {
  rest_ += piece;
  const std::size_t whole = rest_.size() - incomplete_end(rest_);
  std::string repaired;
  text_ += well_formed_utf8(std::string_view(rest_).substr(0, whole), repaired);
  rest_.erase(0, whole);
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
    text->empty() ? * text = std::move(value) : * text += value;
  }
  return text;
}

std::optional<std::string> first_stored_text(const Lucene::DocumentPtr& document, std::string_view field) {
  if (!document) return std::nullopt;
  const Lucene::FieldablePtr stored = document->getFieldable(to_lucene(field));
  return stored ? std::optional(text_of(stored)) : std::nullopt;
}

}  // namespace relucent
