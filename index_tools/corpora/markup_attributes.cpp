#include "index_tools/corpora/markup_attributes.h"

#include <cstddef>

namespace relucent::index_tools {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// What a name begins with; in XML, other characters too.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the end of the tag that starts at `at`; counts possible attributes on the way.
std::size_t end_of_tag(std::string_view page, std::size_t at, double& attributes) {
  char before = ' ';  // the last character that is not blank
  for (; at < page.size() && page[at] != '>'; ++at) {
    const char c = page[at];
    if (before == '=' && (c == '"' || c == '\'')) {
      const std::size_t closing = page.find(c, at + 1);
      at = closing == std::string_view::npos ? page.size() - 1 : closing;
      ++attributes;
    } else if (is_blank(c)) {
      if (!is_blank(page[at - 1])) ++attributes;
    }
    if (!is_blank(c)) before = c;
  }
  return at;
}

}  // namespace

bool has_too_many_attributes(std::string_view markup, double most) {
  double looked_at = 0;
  for (std::size_t at = markup.find('<'); at != std::string_view::npos; at = markup.find('<', at)) {
    if (++at == markup.size()) return false;
    if (!begins_name(markup[at])) continue;
    double attributes = 0;
    at = end_of_tag(markup, at, attributes);
    looked_at += attributes * attributes;
    if (looked_at > most) return true;
  }
  return false;
}

}  // namespace relucent::index_tools
