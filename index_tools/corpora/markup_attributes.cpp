#include "index_tools/corpora/markup_attributes.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

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

constexpr std::size_t kNamesKept = 64;
constexpr std::size_t kLongestName = 100;  // htmlParseHTMLName() ends a name here, and the next one begins
constexpr std::string_view kBlanksInTags = " \t\n\r";

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool may_begin_name(char c) { return is_ascii_letter(c) || c == '_' || c == ':' || c == '.'; }
bool may_continue_name(char c) { return may_begin_name(c) || (c >= '0' && c <= '9') || c == '-'; }

/// Goes through the tags of a page by the steps of libxml2's htmlParseStartElement().
class TagReader {
 public:
  explicit TagReader(std::string_view page) : page_(page) {}

  std::optional<std::string> read() {
    while ((at_ = page_.find('<', at_)) < page_.size()) {
      if (page_.substr(at_).starts_with("<!--")) {
        at_ = std::min(page_.find("-->", at_ + 4), page_.size());
      } else if (++at_ < page_.size() && may_begin_name(page_[at_])) {
        read_tag();
      }
    }
    return std::move(changed_);
  }

 private:
  char here() const { return at_ < page_.size() ? page_[at_] : '>'; }
  bool at_end_of_tag() const { return here() == '>' || page_.substr(at_).starts_with("/>"); }
  void skip_blanks() { at_ = std::min(page_.find_first_not_of(kBlanksInTags, at_), page_.size()); }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < page_.size() && at_ - begin < kLongestName && may_continue_name(page_[at_])) ++at_;
    return page_.substr(begin, at_ - begin);
  }

  void read_tag() {
    const std::string element = lower_ascii(name());
    skip_blanks();
    for (std::size_t attributes = 0; !at_end_of_tag(); skip_blanks()) {
      if (!may_begin_name(here())) {
        while (!at_end_of_tag() && kBlanksInTags.find(here()) == std::string_view::npos) ++at_;
        continue;
      }
      const std::size_t begin = at_, size = name().size();
      if (++attributes > kNamesKept) {
        if (!changed_) changed_.emplace(page_);
        changed_->replace(begin, size, size, 'a');
      }
      skip_value();
    }
    if (element == "script" || element == "style") skip_content(element);
  }

  void skip_value() {
    skip_blanks();
    if (here() != '=') return;
    ++at_;
    skip_blanks();
    if (const char quote = here(); quote == '"' || quote == '\'') {
      const std::size_t closing = page_.find(quote, at_ + 1);
      at_ = closing == std::string_view::npos ? page_.size() : closing + 1;
    } else {
      at_ = std::min(page_.find_first_of(" \t\n\r>", at_), page_.size());
    }
  }

  /// In scripts and styles, '<' begins no tag.
  void skip_content(const std::string& element) {
    while ((at_ = page_.find("</", at_)) < page_.size()) {
      if (lower_ascii(page_.substr(at_ + 2, element.size())) == element) return;
      at_ += 2;
    }
  }

  std::string_view page_;
  std::size_t at_ = 0;
  std::optional<std::string> changed_;
};

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

std::optional<std::string> with_few_attribute_names(std::string_view page) {
  if (page.find('\0') != std::string_view::npos) return std::nullopt;  // which ends a tag in some places
  return TagReader(page).read();
}

}  // namespace relucent::index_tools
