#include <libxml/parser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/html_text.h"
#include "index_tools/corpora/markup_attributes.h"
#include "index_tools/corpora/readers.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kCitationStart = "<MedlineCitation", kCitationEnd = "</MedlineCitation>";

// The first element of that name below `node`, in the document's order.
const xmlNode* find_below(const xmlNode* node, std::string_view name) {
  for (const xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type != XML_ELEMENT_NODE) continue;
    if (reinterpret_cast<const char*>(child->name) == name) return child;
    if (const xmlNode* found = find_below(child, name)) return found;
  }
  return nullptr;
}

// The text before an element's first child element; nothing if there is none.
std::optional<std::string> leading_text(const xmlNode* element) {
  std::optional<std::string> text;
  for (const xmlNode* child = element->children; child != nullptr; child = child->next) {
    if (child->type == XML_ELEMENT_NODE) break;
    if (child->type != XML_TEXT_NODE && child->type != XML_CDATA_SECTION_NODE) continue;
    if (!text) text.emplace();
    *text += reinterpret_cast<const char*>(child->content);
  }
  return text;
}

void append_text_below(const xmlNode* element, std::string& text) {
  for (const xmlNode* child = element->children; child != nullptr; child = child->next) {
    if (child->type == XML_ELEMENT_NODE) append_text_below(child, text);
    if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE)
      text += reinterpret_cast<const char*>(child->content);
  }
}

// Title and abstract with the text of all elements inside them, the abstract's parts separated by a space.
std::string whole_text(const xmlNode* citation) {
  std::string text;
  if (const xmlNode* title = find_below(citation, "ArticleTitle")) append_text_below(title, text);
  const xmlNode* abstract = find_below(citation, "Abstract");
  if (abstract == nullptr) return text + " ";
  for (const xmlNode* child = abstract->children; child != nullptr; child = child->next) {
    if (child->type != XML_ELEMENT_NODE ||
        std::string_view(reinterpret_cast<const char*>(child->name)) != "AbstractText")
      continue;
    text += ' ';
    append_text_below(child, text);
  }
  return text;
}

// ir_datasets formats both parts with Python, which writes None for an element that starts with another one or is
// empty.
std::string part_of_text(const xmlNode* citation, std::string_view name) {
  const xmlNode* element = find_below(citation, name);
  return element == nullptr ? std::string() : leading_text(element).value_or("None");
}

// Parses citations one by one, so that a file of gigabytes is never held in memory and entities cannot be defined.
class XmlReader : public DocumentReader {
 public:
  XmlReader(const CorpusPart& part, ByteBuffer bytes, bool whole)
      : part_(part), bytes_(std::move(bytes)), whole_(whole) {}

  bool next(Document& document) override {
    while (find_start()) {
      document.line = bytes_.line();
      std::size_t end = bytes_.find(kCitationEnd);
      if (end == std::string_view::npos) {
        const bool too_long = bytes_.ahead().size() > kMaxRecord;
        part_.malformed(too_long ? "record over 64 MiB" : "no </MedlineCitation>", document.line);
        bytes_.skip_to(kCitationEnd);
        continue;
      }
      for (std::size_t inner; (inner = bytes_.ahead().substr(0, end).find(kCitationStart, 1)) != std::string_view::npos;
           end -= inner) {
        part_.malformed("no </MedlineCitation>", document.line);
        bytes_.consume(inner);
        document.line = bytes_.line();
      }
      const char* problem = read_citation(bytes_.ahead().substr(0, end + kCitationEnd.size()), document);
      bytes_.consume(end + kCitationEnd.size());
      if (problem == nullptr) return true;
      part_.malformed(problem, document.line);
    }
    return false;
  }

 private:
  // Finds the start tag of a citation; the tag of a citation set begins with the same letters.
  bool find_start() {
    while (bytes_.skip_to(kCitationStart)) {
      bytes_.have(kCitationStart.size() + 1);
      const std::string_view rest = bytes_.ahead().substr(kCitationStart.size());
      if (!rest.empty() && (rest[0] == '>' || rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\t'))
        return true;
      bytes_.consume(kCitationStart.size());
    }
    return false;
  }

  // The problem with it; null if there is none.
  const char* read_citation(std::string_view xml, Document& document) const {
    if (has_too_many_xml_attributes(xml)) return "tags with too many attributes";
    constexpr int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA;
    const std::unique_ptr<xmlDoc, void (*)(xmlDocPtr)> tree(
        ::xmlReadMemory(xml.data(), static_cast<int>(xml.size()), nullptr, "UTF-8", options), ::xmlFreeDoc);
    if (tree == nullptr) return "not well-formed XML";
    const xmlNode* citation = ::xmlDocGetRootElement(tree.get());
    const xmlNode* id = find_below(citation, "PMID");
    if (id == nullptr) return "no PMID";
    document.id = leading_text(id).value_or("");
    document.text = whole_ ? whole_text(citation)
                           : part_of_text(citation, "ArticleTitle") + " " + part_of_text(citation, "AbstractText");
    return nullptr;
  }

  const CorpusPart part_;
  ByteBuffer bytes_;
  const bool whole_;
};

// A line for the meeting, "Title: " and the title up to an empty line, the abstract.
class AbstractReader : public DocumentReader {
 public:
  AbstractReader(const CorpusPart& part, ByteBuffer bytes) : part_(part), bytes_(std::move(bytes)) {}

  bool next(Document& document) override {
    if (done_ || bytes_.at_end()) return false;
    done_ = true;
    if (bytes_.have(kMaxRecord + 1)) return part_.malformed("record over 64 MiB", 1);
    std::string text(bytes_.ahead());
    part_.report.repair(text);
    constexpr std::string_view key = "Title:";
    const std::size_t title = text.find('\n') + 1;
    if (title == 0 || text.compare(title, key.size(), key) != 0) return part_.malformed("no line \"Title:\"", 1);
    const std::size_t end = std::min(text.find("\n\n", title), text.size());
    const std::string_view whole = text;
    const std::string_view name = std::string_view(part_.path).substr(part_.path.find_last_of('/') + 1);
    document.id = name.substr(0, name.find('.'));
    document.text = stripped_text(whole.substr(title + key.size(), end - title - key.size()));
    (document.text += ' ') += stripped_text(whole.substr(end));
    document.line = 1;
    return true;
  }

 private:
  const CorpusPart part_;
  ByteBuffer bytes_;
  bool done_ = false;
};

// "PMID- 1", "TI  - title", "AB  - abstract"; lines that start with blanks continue the field; an empty line ends a
// citation.
class DisplayReader : public DocumentReader {
 public:
  DisplayReader(const CorpusPart& part, ByteBuffer bytes) : part_(part), bytes_(std::move(bytes)) {}

  bool next(Document& document) override {
    while (read_citation(document)) {
      if (document.id.empty()) {
        part_.malformed("no PMID", document.line);
        continue;
      }
      document.text = title_ + " " + abstract_;
      part_.report.repair(document.text);
      return true;
    }
    return false;
  }

 private:
  // Collects the fields up to an empty line, the next PMID or the end; false if there are none left.
  bool read_citation(Document& document) {
    document.id.clear();
    title_.clear();
    abstract_.clear();
    std::string line;
    std::string* field = nullptr;
    for (bool any = false;;) {
      bytes_.have(kNumber.size());
      if (any && bytes_.ahead().starts_with(kNumber)) return true;
      const std::int64_t number = bytes_.line();
      if (!bytes_.next_line(line)) return any;
      const std::string_view value = stripped_text(line);
      if (value.empty()) {
        if (any) return true;
        continue;
      }
      if (!any) document.line = number;
      any = true;
      if (line[0] == ' ') {
        if (field != nullptr) (*field += ' ') += value;
        continue;
      }
      field = line.starts_with(kNumber)   ? &document.id
              : line.starts_with("TI  -") ? &title_
              : line.starts_with("AB  -") ? &abstract_
                                          : nullptr;
      if (field != nullptr) *field = stripped_text(value.substr(kNumber.size()));
    }
  }

  static constexpr std::string_view kNumber = "PMID-";
  const CorpusPart part_;
  ByteBuffer bytes_;
  std::string title_, abstract_;
};

std::unique_ptr<DocumentReader> read_citations(const CorpusPart& part, bool whole) {
  ByteBuffer bytes(part.bytes);
  bytes.have(1);
  const std::string_view start = stripped_text(bytes.ahead());
  if (start.starts_with('<') || start.find("</") != std::string_view::npos) {
    return std::make_unique<XmlReader>(part, std::move(bytes), whole);
  }
  if (start.starts_with("PMID-")) return std::make_unique<DisplayReader>(part, std::move(bytes));
  return std::make_unique<AbstractReader>(part, std::move(bytes));
}

}  // namespace

std::unique_ptr<DocumentReader> read_medline(const CorpusPart& part) { return read_citations(part, false); }

std::unique_ptr<DocumentReader> read_pubmed(const CorpusPart& part) { return read_citations(part, true); }

}  // namespace relucent::index_tools
