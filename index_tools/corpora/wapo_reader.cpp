#include <libxml/parser.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/line_record_reader.h"
#include "index_tools/corpora/markup_attributes.h"
#include "index_tools/corpora/readers.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

using nlohmann::json;

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

// Appends the text of markup that is read as XML, ignoring errors: the result of BeautifulSoup(markup,
// "lxml-xml").get_text(). Hence only the first element counts, nothing is appended if text or an entity precedes it,
// and entities other than XML's five are dropped. `markup` is UTF-8; nothing outside it is ever read. Throws Error
// `invalid_data` for elements with more than kMaxXmlAttributes attributes, and for a document type that declares
// attributes.
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

const json& member(const json& object, const char* name) {
  static const json null;
  const auto found = object.find(name);
  return found != object.end() ? *found : null;
}

bool is(const json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

// The member that holds the text of a part of an article; null if it has none.
const json& text_of(const json& part) {
  static const json null;
  const json& type = member(part, "type");
  if (is(type, "sanitized_html")) return member(part, "content");
  if (is(type, "image")) return member(part, "fullcaption");
  if (is(type, "video") || is(type, "gallery")) return member(part, "blurb");
  if (is(type, "tweet")) {
    const json& tweet = member(part, "content");
    return tweet.is_object() ? member(tweet, "text") : tweet;
  }
  return null;
}

class WapoReader : public LineRecordReader {
 public:
  using LineRecordReader::LineRecordReader;

 private:
  const char* read(std::string& line, Document& document) override {
    json record;
    if (const char* problem = parse_json_object(line, record)) return problem;
    const auto id = record.find("id");
    if (id == record.end() || !take_id(*id, document.id)) return "no id";
    document.text.clear();
    if (!append_text(record, "title", document.text)) return "no title";
    document.text += ' ';
    const std::size_t body = document.text.size();
    const json& contents = member(record, "contents");
    if (!contents.is_array()) return "no contents";
    for (const json& part : contents) {
      if (part.is_null()) continue;
      if (!part.is_object()) return "a part of the contents is not an object";
      const json& text = text_of(part);
      if (text.is_null()) continue;
      if (!text.is_string()) return "a part of the contents has no text but something else";
      const std::string& markup = text.get_ref<const std::string&>();
      if (is(member(part, "type"), "sanitized_html") && is(member(part, "mime"), "text/html")) {
        try {
          append_xml_text(markup, document.text);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::invalid_data) throw;
          return "tags with too many attributes";
        }
      } else {
        document.text += markup;
      }
      document.text += '\n';
    }
    while (document.text.size() > body && document.text.back() == '\n') document.text.pop_back();
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<DocumentReader> read_wapo(LineReader& lines) { return std::make_unique<WapoReader>(lines); }

}  // namespace relucent::index_tools
