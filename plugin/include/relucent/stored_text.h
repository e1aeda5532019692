#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Document.h>

#include <optional>
#include <string>
#include <string_view>

#include "relucent/export.h"

namespace relucent {

/// A stored field's text as UTF-8, stored either as UTF-8 bytes (by IndexBuilder) or as a string (by other writers);
/// nullopt if the document has no such field. Several values are joined by a space, in the order in which they were
/// added; Lucene's analyzers count a gap of one character between them. Malformed bytes and lone surrogates become
/// U+FFFD.
RELUCENT_API std::optional<std::string> stored_text(const Lucene::DocumentPtr& document, std::string_view field);
/// The text of the field's first value only, e.g. an id.
RELUCENT_API std::optional<std::string> first_stored_text(const Lucene::DocumentPtr& document, std::string_view field);

/// The text with each malformed sequence replaced by U+FFFD.
RELUCENT_API std::string well_formed_utf8(std::string_view text);
/// UTF-8 to Lucene++'s String. Unlike StringUtils::toUnicode it never fails: malformed sequences become U+FFFD, and so
/// does U+FFFF, Lucene++'s end-of-buffer mark.
RELUCENT_API Lucene::String to_lucene(std::string_view utf8);
/// Lucene++'s String to UTF-8; anything that is not a Unicode scalar value becomes U+FFFD.
RELUCENT_API std::string to_utf8(const Lucene::String& text);

}  // namespace relucent
