#include <string_view>

#include "base/utf8.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/html_text.h"
#include "index_tools/corpora/readers.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kDocumentEnd = "\n</DOC>";

bool starts_record(std::string_view bytes) { return bytes.starts_with("<DOC>") || bytes.starts_with("<DOC "); }

// Position of the first later line that starts with <DOC> or <DOC ...>; npos if there is none.
std::size_t find_inner_start(std::string_view bytes) {
  for (std::size_t i = bytes.find('\n'); i != std::string_view::npos; i = bytes.find('\n', i + 1)) {
    if (starts_record(bytes.substr(i + 1))) return i + 1;
  }
  return std::string_view::npos;
}

// The id of <DOC id="...">; empty if there is none.
std::string_view id_attribute(std::string_view record) {
  constexpr std::string_view attribute = "id=\"";
  const std::string_view tag = record.substr(0, record.find('>'));
  const std::size_t at = tag.find(attribute);
  if (at == std::string_view::npos) return {};
  const std::string_view value = tag.substr(at + attribute.size());
  return value.substr(0, value.find('"'));
}

class TrecReader : public DocumentReader {
 public:
  // `fields`: the id's, then those of the text's parts, which are joined by a space.
  TrecReader(const CorpusPart& part, std::vector<HtmlField> fields, bool drop_malformed)
      : part_(part), bytes_(part.bytes), fields_(std::move(fields)), drop_malformed_(drop_malformed) {}

  bool next(Document& document) override {
    while (find_record()) {
      document.line = bytes_.line();
      std::size_t end = bytes_.find(kDocumentEnd);
      if (end == std::string_view::npos) {
        if (bytes_.ahead().size() <= kMaxRecord) return part_.malformed("no </DOC>", document.line);
        part_.malformed("record over 64 MiB", document.line);
        bytes_.skip_to(kDocumentEnd);
        continue;
      }
      for (std::size_t inner; (inner = find_inner_start(bytes_.ahead().substr(0, end))) != std::string_view::npos;
           end -= inner) {
        part_.malformed("no </DOC>", document.line);
        bytes_.consume(inner);
        document.line = bytes_.line();
      }
      const bool read = read_record(bytes_.ahead().substr(0, end + kDocumentEnd.size()), document);
      bytes_.consume(end + kDocumentEnd.size());
      if (read) return true;
    }
    return false;
  }

 private:
  // Consumes everything before the next record; false at the end.
  bool find_record() {
    for (;;) {
      bytes_.have(kDocumentEnd.size());
      if (starts_record(bytes_.ahead())) return true;
      if (!bytes_.skip_to("\n")) return false;
      bytes_.consume(1);
    }
  }

  bool read_record(std::string_view record, Document& document) {
    std::string text(record);
    if (drop_malformed_) {
      drop_malformed_utf8(text);
    } else {
      part_.report.repair(text);
    }
    std::vector<std::string> texts;
    try {
      texts = html_fields(text, fields_);
    } catch (const Error& error) {
      return part_.malformed(error.problem(), document.line);
    }
    document.id = texts[0].empty() ? std::string(id_attribute(text)) : std::move(texts[0]);
    if (document.id.empty()) return part_.malformed("no <DOCNO>", document.line);
    document.text = std::move(texts[1]);
    for (std::size_t i = 2; i < texts.size(); ++i) document.text += " " + texts[i];
    return true;
  }

  const CorpusPart part_;
  ByteBuffer bytes_;
  std::vector<HtmlField> fields_;
  bool drop_malformed_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_trec(const CorpusPart& part) {
  return std::make_unique<TrecReader>(part, std::vector<HtmlField>{{"docno"}, {}}, false);
}

std::unique_ptr<DocumentReader> read_disks45(const CorpusPart& part) {
  const std::vector<HtmlField> fields = {
      {"docno"}, {"headline", "title", "h3", "h4"}, {"text", "hl", "head", "ttl", "dd", "date", "lp", "leadpara"}};
  return std::make_unique<TrecReader>(part, fields, true);
}

}  // namespace relucent::index_tools
