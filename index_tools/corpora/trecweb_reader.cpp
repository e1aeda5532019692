#include <optional>
#include <string_view>

#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/html_text.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

const std::string kPageStart = "<DOC>", kPageEnd = "</DOC>";

// The bytes of a tag with the line end behind it, which belongs to it in these collections; 0 if there is no
// such tag.
std::size_t tag_length(std::string_view bytes, std::string_view tag) {
  if (!bytes.starts_with(tag)) return 0;
  const std::string_view rest = bytes.substr(tag.size());
  return tag.size() + (rest.starts_with("\r\n") ? 2 : rest.starts_with("\n") ? 1 : 0);
}

struct Block {
  std::string_view content, rest;
};

// The first block between <TAG> and </TAG>.
std::optional<Block> find_block(std::string_view bytes, std::string_view start, std::string_view end) {
  const std::size_t from = bytes.find(start);
  if (from == std::string_view::npos) return std::nullopt;
  const std::size_t content = from + tag_length(bytes.substr(from), start);
  const std::size_t to = bytes.find(end, content);
  if (to == std::string_view::npos) return std::nullopt;
  return Block{bytes.substr(content, to - content), bytes.substr(to + tag_length(bytes.substr(to), end))};
}

class TrecwebReader : public DocumentReader {
 public:
  explicit TrecwebReader(const CorpusPart& part) : part_(part), bytes_(part.bytes) {}

  bool next(Document& document) override {
    while (find_start()) {
      document.line = bytes_.line();
      std::size_t end = find_end();
      if (end == std::string_view::npos) {
        if (bytes_.ahead().size() <= kMaxRecord) return part_.malformed("no </DOC>", document.line);
        part_.malformed("record over 64 MiB", document.line);
        bytes_.skip_to(kPageEnd);
        continue;
      }
      // A page may contain <DOC>, but not followed by a number.
      const std::string numbered = kPageStart + line_end_ + "<DOCNO>";
      for (std::size_t inner; (inner = bytes_.ahead().substr(0, end).find(numbered, 1)) != std::string_view::npos;
           end -= inner) {
        part_.malformed("no </DOC>", document.line);
        bytes_.consume(inner);
        document.line = bytes_.line();
      }
      const std::string_view record = bytes_.ahead().substr(0, end);
      const bool read = read_record(record.substr(tag_length(record, kPageStart)), document);
      bytes_.consume(end + kPageEnd.size());
      if (read) return true;
    }
    return false;
  }

 private:
  // Consumes everything before the next record; false at the end. All lines are assumed to end like the first one.
  bool find_start() {
    if (!line_end_.empty()) return bytes_.skip_to(kPageStart + line_end_);
    if (!bytes_.skip_to(kPageStart)) return false;
    bytes_.have(kPageStart.size() + 2);
    line_end_ = bytes_.ahead().substr(kPageStart.size()).starts_with("\r\n") ? "\r\n" : "\n";
    return true;
  }

  // Position of a </DOC> at the end of a line or of the file; npos if there is none.
  std::size_t find_end() {
    const std::size_t end = bytes_.find(kPageEnd + line_end_);
    const std::string_view bytes = bytes_.ahead();
    if (end == std::string_view::npos && bytes.size() <= kMaxRecord && bytes.ends_with(kPageEnd)) {
      return bytes.size() - kPageEnd.size();
    }
    return end;
  }

  bool read_record(std::string_view record, Document& document) {
    const auto number = find_block(record, "<DOCNO>", "</DOCNO>");
    if (!number) return part_.malformed("no <DOCNO>", document.line);
    const auto header = find_block(number->rest, "<DOCHDR>", "</DOCHDR>");
    if (!header) return part_.malformed("no <DOCHDR>", document.line);
    document.id = stripped_text(number->content);
    const std::size_t url_end = header->content.find('\n');
    try {
      document.text =
          text_of_page(header->rest, header->content.substr(url_end == std::string_view::npos ? 0 : url_end + 1));
    } catch (const Error& error) {
      return part_.malformed(error.problem(), document.line);
    }
    return true;
  }

  const CorpusPart part_;
  ByteBuffer bytes_;
  std::string line_end_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_trecweb(const CorpusPart& part) { return std::make_unique<TrecwebReader>(part); }

}  // namespace relucent::index_tools
