#include <libxml/parser.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "index_tools/corpora/archive_reader.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/charset.h"
#include "index_tools/corpora/converted_text.h"
#include "index_tools/corpora/markup_attributes.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::array<std::string_view, 3> kParts = {"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"};
constexpr std::array<const char*, 2> kWord = {"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
                                              "http://purl.oclc.org/ooxml/wordprocessingml/main"};
constexpr const char* kCompatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006";
constexpr int kPieceBytes = 1 << 20;

/// A file in memory.
class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(char* buffer, std::size_t capacity) override {
    const std::string_view part = bytes_.substr(place_, capacity);
    std::memcpy(buffer, part.data(), part.size());
    place_ += part.size();
    return part.size();
  }
  std::int64_t seek(std::int64_t offset, int whence) override {
    const std::size_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? place_ : bytes_.size();
    const std::int64_t place = static_cast<std::int64_t>(from) + offset;
    if (place < 0 || place > static_cast<std::int64_t>(bytes_.size())) return -1;
    place_ = static_cast<std::size_t>(place);
    return place;
  }
  bool seekable() const override { return true; }

 private:
  std::string_view bytes_;
  std::size_t place_ = 0;
};

bool is(const xmlChar* name, const char* wanted) {
  return name != nullptr && std::strcmp(reinterpret_cast<const char*>(name), wanted) == 0;
}

bool is_word(const xmlChar* uri) { return is(uri, kWord[0]) || is(uri, kWord[1]); }

/// The text of a part, collected while its XML is read.
class PartText {
 public:
  explicit PartText(std::string& text) : text_(text) {}

  void open(const xmlChar* name, const xmlChar* uri) {
    if (skipped_ > 0 || (is(name, "Fallback") && is(uri, kCompatibility))) {
      ++skipped_;
      return;
    }
    if (!is_word(uri)) return;
    in_text_ = is(name, "t");
    if (is(name, "tab")) text_ += '\t';
    if (is(name, "br") || is(name, "cr")) text_ += '\n';
    if (is(name, "noBreakHyphen")) text_ += '-';
  }
  void close(const xmlChar* name, const xmlChar* uri) {
    if (skipped_ > 0) {
      --skipped_;
      return;
    }
    if (!is_word(uri)) return;
    in_text_ = false;
    // Paragraphs without text, such as those around pictures, leave no lines.
    if (is(name, "p") && !text_.empty() && text_.back() != '\n') text_ += '\n';
  }
  void add(const xmlChar* characters, int count) {
    if (in_text_ && skipped_ == 0) text_.append(reinterpret_cast<const char*>(characters), static_cast<size_t>(count));
  }

  bool has_document_type = false;

 private:
  std::string& text_;
  bool in_text_ = false;
  std::size_t skipped_ = 0;  // open elements from one that is skipped on
};

PartText& part(void* context) { return *static_cast<PartText*>(static_cast<xmlParserCtxtPtr>(context)->_private); }

void on_docx_start(void* context, const xmlChar* name, const xmlChar*, const xmlChar* uri, int, const xmlChar**, int,
                   int, const xmlChar**) {
  part(context).open(name, uri);
}
void on_docx_end(void* context, const xmlChar* name, const xmlChar*, const xmlChar* uri) {
  part(context).close(name, uri);
}
void on_docx_text(void* context, const xmlChar* characters, int count) { part(context).add(characters, count); }
void on_docx_type(void* context, const xmlChar*, const xmlChar*, const xmlChar*) {
  part(context).has_document_type = true;
  ::xmlStopParser(static_cast<xmlParserCtxtPtr>(context));
}
void on_docx_error(void*, xmlErrorPtr) {}  // libxml2 would print it

/// Appends the text of one part. Returns what is wrong with it; empty: nothing.
std::string_view append_part(std::string_view xml, std::string& text) {
  std::string decoded;
  if (xml.starts_with("\xFF\xFE") || xml.starts_with("\xFE\xFF")) {
    decoded = *decode_charset(xml, "utf-16");
    xml = decoded;
  }
  if (xml.starts_with("\xEF\xBB\xBF")) xml.remove_prefix(3);
  if (has_too_many_xml_attributes(xml)) return "a DOCX with too many attributes";
  PartText collected(text);
  xmlSAXHandler sax{};
  sax.initialized = XML_SAX2_MAGIC;
  sax.startElementNs = on_docx_start;
  sax.endElementNs = on_docx_end;
  sax.characters = sax.ignorableWhitespace = sax.cdataBlock = on_docx_text;
  sax.internalSubset = on_docx_type;
  sax.serror = on_docx_error;
  // Without user data the handlers get the parser itself, which they stop at a document type.
  const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> parser(
      ::xmlCreatePushParserCtxt(&sax, nullptr, nullptr, 0, nullptr), ::xmlFreeParserCtxt);
  if (parser == nullptr) throw std::bad_alloc();
  parser->_private = &collected;
  // No other encoding than UTF-8, in which the attributes were counted.
  ::xmlCtxtResetPush(parser.get(), nullptr, 0, nullptr, "UTF-8");
  ::xmlCtxtUseOptions(parser.get(), XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_IGNORE_ENC);
  int problem = 0;
  while (!xml.empty() && problem == 0) {
    const std::string_view piece = xml.substr(0, kPieceBytes);
    problem = ::xmlParseChunk(parser.get(), piece.data(), static_cast<int>(piece.size()), 0);
    xml.remove_prefix(piece.size());
  }
  if (problem == 0) problem = ::xmlParseChunk(parser.get(), nullptr, 0, 1);
  ::xmlFreeDoc(parser->myDoc);
  parser->myDoc = nullptr;
  if (collected.has_document_type) return "a DOCX with a document type, which may be an attack";
  return problem == 0 ? "" : "a damaged DOCX";
}

/// The entry's bytes; nothing if they exceed `room`.
std::optional<std::string> read_entry(ArchiveReader& archive, std::size_t room) {
  std::string bytes;
  std::array<char, 1 << 16> buffer{};
  while (const std::size_t count = archive.read(buffer.data(), buffer.size())) {
    if (count > room - bytes.size()) return std::nullopt;
    bytes.append(buffer.data(), count);
  }
  return bytes;
}

}  // namespace

ConvertedText text_of_docx(std::string_view docx) {
  if (docx.starts_with("\xD0\xCF\x11\xE0")) return {{}, "a DOCX with a password, or a DOC"};
  if (!docx.starts_with("PK")) return {{}, "a damaged DOCX"};
  std::array<std::optional<std::string>, kParts.size()> parts;
  try {
    MemoryStream bytes(docx);
    ArchiveReader archive(bytes, "DOCX");
    std::size_t room = kMaxRecord;
    while (archive.next_entry()) {
      const auto known = std::ranges::find(kParts, archive.entry_name());
      if (known == kParts.end() || parts[static_cast<std::size_t>(known - kParts.begin())]) continue;
      std::optional<std::string> entry = read_entry(archive, room);
      if (!entry) return {{}, "a DOCX over 64 MiB when unpacked"};
      room -= entry->size();
      parts[static_cast<std::size_t>(known - kParts.begin())] = std::move(entry);
    }
  } catch (const Error&) {
    return {{}, "a damaged DOCX"};
  }
  if (!parts[0]) return {{}, "a DOCX without word/document.xml"};
  ConvertedText result;
  for (const std::optional<std::string>& xml : parts) {
    if (!xml) continue;
    result.problem = append_part(*xml, result.text);
    if (!result.problem.empty()) return {{}, result.problem};
  }
  if (result.text.ends_with('\n')) result.text.pop_back();
  return result;
}

}  // namespace relucent::index_tools
