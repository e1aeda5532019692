#include "index_tools/corpora/xml_text.h"

#include <libxml/parser.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "base/utf8.h"
#include "index_tools/corpora/markup_attributes.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

// BeautifulSoup passes markup in pieces of this many characters. For broken markup the result may depend on where a
// piece ends.
constexpr std::size_t kPieceCharacters = 512;
// lxml creates a parser with this many bytes.
constexpr std::size_t kFirstBytes = 4;

// Joins the texts between two pieces of markup as BeautifulSoup does, turning pure white space into one line end or
// blank, up to the end of the first element.
class TextRuns {
 public:
  explicit TextRuns(std::string& text) : text_(text) {}

  void add(const xmlChar* characters, int count) {
    if (!finished_) run_.append(reinterpret_cast<const char*>(characters), static_cast<std::size_t>(count));
  }
  void end_run() {
    if (run_.find_first_not_of(" \n\t\f\r") != std::string::npos) {
      text_ += run_;
    } else if (!run_.empty()) {
      text_ += run_.find('\n') != std::string::npos ? '\n' : ' ';
    }
    run_.clear();
  }
  void open_element() {
    end_run();
    ++depth_;
  }
  void close_element() {
    end_run();
    finished_ = finished_ || --depth_ <= 0;
  }

 private:
  std::string& text_;
  std::string run_;
  int depth_ = 0;
  bool finished_ = false;
};

TextRuns& runs(void* context) { return *static_cast<TextRuns*>(context); }

void on_text(void* context, const xmlChar* characters, int count) { runs(context).add(characters, count); }

void on_start(void* context, const xmlChar*, const xmlChar*, const xmlChar*, int, const xmlChar**, int, int,
              const xmlChar**) {
  runs(context).open_element();
}
void on_end(void* context, const xmlChar*, const xmlChar*, const xmlChar*) { runs(context).close_element(); }
void on_comment(void* context, const xmlChar*) { runs(context).end_run(); }
void on_instruction(void* context, const xmlChar*, const xmlChar*) { runs(context).end_run(); }
void on_document_type(void* context, const xmlChar*, const xmlChar*, const xmlChar*) { runs(context).end_run(); }

// Broken markup is common. A faulty start tag (<a target=_blank>) opens no element in libxml2 2.12 and later, nor in
// the version that ir_datasets' records were made with; in Debian 12's 2.9.14 it does. The error names the element for
// start tags only.
void on_error(void* context, xmlErrorPtr error) {
  if (error->code == XML_ERR_GT_REQUIRED && error->str1 != nullptr) runs(context).close_element();
}

// Without a handler that resolves entities, only XML's own five are expanded, and nothing is fetched.
xmlSAXHandler handlers() {
  xmlSAXHandler sax{};
  sax.initialized = XML_SAX2_MAGIC;
  sax.startElementNs = on_start;
  sax.endElementNs = on_end;
  sax.characters = sax.ignorableWhitespace = sax.cdataBlock = on_text;
  sax.comment = on_comment;
  sax.processingInstruction = on_instruction;
  sax.internalSubset = on_document_type;
  sax.serror = on_error;
  return sax;
}

void free_parser(xmlParserCtxtPtr parser) {
  ::xmlFreeDoc(parser->myDoc);  // libxml2 keeps the declarations of a document type here
  ::xmlFreeParserCtxt(parser);
}

}  // namespace

void append_xml_text(std::string_view markup, std::string& text) {
  // A document type that declares attributes gives them to each of its elements, few bytes long as these are.
  if (markup.find("<!ATTLIST") != std::string_view::npos || has_too_many_xml_attributes(markup)) {
    throw Error(ErrorKind::invalid_data, "", "tags with too many attributes");
  }
  if (markup.starts_with("\xEF\xBB\xBF")) markup.remove_prefix(3);
  TextRuns text_runs(text);
  xmlSAXHandler sax = handlers();
  const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> parser(
      ::xmlCreatePushParserCtxt(&sax, &text_runs, nullptr, 0, nullptr), free_parser);
  if (parser == nullptr) throw std::bad_alloc();
  ::xmlCtxtUseOptions(parser.get(),
                      XML_PARSE_RECOVER | XML_PARSE_NOENT | XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  std::size_t piece = bytes_of_code_points(markup, kPieceCharacters);
  const std::size_t first = std::min(kFirstBytes, piece);
  ::xmlCtxtResetPush(parser.get(), markup.data(), static_cast<int>(first), nullptr, "UTF-8");
  ::xmlParseChunk(parser.get(), markup.data() + first, static_cast<int>(piece - first), 0);
  for (markup.remove_prefix(piece); !markup.empty(); markup.remove_prefix(piece)) {
    piece = bytes_of_code_points(markup, kPieceCharacters);
    ::xmlParseChunk(parser.get(), markup.data(), static_cast<int>(piece), 0);
  }
  // libxml2 2.9.14 loses a single last byte of text; later versions do not.
  ::xmlParseChunk(parser.get(), "<", 1, 0);
  ::xmlParseChunk(parser.get(), nullptr, 0, 1);
  text_runs.end_run();
}

}  // namespace relucent::index_tools
