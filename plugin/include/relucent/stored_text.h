#pragma once

#include <Lucene.h>  // the other Lucene++ headers need it first

#include <Document.h>

#include <optional>
#include <string>
#include <string_view>

#include "relucent/export.h"

namespace relucent {

/// A stored field's text as UTF-8, whether it was stored as UTF-8 bytes (as our writer does) or as a string (as other
/// writers do); nothing if the document has no such field. Several values are joined by a space, in the order in which
/// they were added: the gap of one character that Lucene's analyzers count between them. Malformed bytes and lone
/// surrogates come back as U+FFFD.
RELUCENT_API std::optional<std::string> stored_text(const Lucene::DocumentPtr& document, std::string_view field);
/// The same of the field's first value alone: an id, say.
RELUCENT_API std::optional<std::string> first_stored_text(const Lucene::DocumentPtr& document, std::string_view field);

/// The text with each malformed sequence replaced by U+FFFD.
RELUCENT_API std::string well_formed_utf8(std::string_view text);
/// UTF-8 to Lucene++'s String. Unlike StringUtils::toUnicode it never gives up: a malformed sequence, and U+FFFF, which
/// Lucene++ ends its buffers with, become U+FFFD.
RELUCENT_API Lucene::String to_lucene(std::string_view utf8);
/// Lucene++'s String to UTF-8; what is no Unicode scalar value becomes U+FFFD.
RELUCENT_API std::string to_utf8(const Lucene::String& text);

}  // namespace relucent
