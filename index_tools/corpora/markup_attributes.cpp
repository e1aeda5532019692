#include "index_tools/corpora/markup_attributes.h"

#include <algorithm>
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

// The start of what does not belong to a name, in XML and in what libxml2 takes for it.
constexpr std::string_view kNotInNames = " \t\n\r=<>/\"'";
constexpr std::string_view kXmlBlanks = " \t\n\r";

void skip_blanks(std::string_view& xml) { xml.remove_prefix(std::min(xml.find_first_not_of(kXmlBlanks), xml.size())); }

// Takes the attribute at the start of `xml`, which has no '<'. Without one, libxml2 ends the tag here.
bool take_attribute(std::string_view& xml) {
  skip_blanks(xml);
  const std::size_t name = std::min(xml.find_first_of(kNotInNames), xml.size());
  xml.remove_prefix(name);
  skip_blanks(xml);
  if (name == 0 || !xml.starts_with('=')) return false;
  xml.remove_prefix(1);
  skip_blanks(xml);
  if (!xml.starts_with('"') && !xml.starts_with('\'')) return false;
  const std::size_t closing = xml.find(xml.front(), 1);
  if (closing == std::string_view::npos) return false;
  xml.remove_prefix(closing + 1);
  return true;
}

}  // namespace

bool has_too_many_xml_attributes(std::string_view xml) {
  for (std::size_t at = xml.find('<'); at != std::string_view::npos;) {
    const std::size_t next = xml.find('<', at + 1);  // no value of an attribute contains this
    std::string_view tag = xml.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    tag.remove_prefix(std::min(tag.find_first_of(kNotInNames), tag.size()));
    for (int attributes = 0; take_attribute(tag);) {
      if (++attributes > kMaxXmlAttributes) return true;
    }
    at = next;
  }
  return false;
}

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
