#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::string_view kRecordStart = "WARC/";
constexpr std::size_t kMaxHeaders = 1024 * 1024;

bool known_version(std::string_view line) { return line == "WARC/0.18" || line == "WARC/1.0" || line == "WARC/1.1"; }

// The named fields of a record that are used.
struct Headers {
  std::string type, trec_id, record_id;
  std::optional<std::uint64_t> length;
  bool old_version = false;
};

class WarcReader : public DocumentReader {
 public:
  WarcReader(const CorpusPart& part, bool need_trec_id)
      : part_(part), bytes_(part.bytes), need_trec_id_(need_trec_id) {}

  bool next(Document& document) override {
    while (find_record()) {
      document.line = bytes_.line();
      if (const char* problem = read_headers()) {
        part_.malformed(problem, document.line);
        continue;
      }
      if (read_body(document)) return true;
    }
    return false;
  }

 private:
  // Consumes everything before the next line that starts with WARC/; false at the end.
  bool find_record() {
    for (;;) {
      bytes_.have(kRecordStart.size());
      if (bytes_.ahead().starts_with(kRecordStart)) return true;
      if (!bytes_.skip_to("\n")) return false;
      bytes_.consume(1);
    }
  }

  // The problem with the record's headers; null if there is none. Leaves the next record's first line unread.
  const char* read_headers() {
    headers_ = {};
    std::string line;
    if (!bytes_.next_line(line) || !known_version(line)) return "not a WARC version";
    headers_.old_version = line == "WARC/0.18";
    bool any_length = false;
    for (std::size_t total = 0; total < kMaxHeaders; total += line.size() + 1) {
      bytes_.have(kRecordStart.size());
      if (bytes_.ahead().starts_with(kRecordStart)) return "no Content-Length";
      if (!bytes_.next_line(line)) return "the record is cut off";
      // Some ClueWeb09 records have an empty line between their fields.
      if (line.empty() && any_length) return headers_.length ? nullptr : "Content-Length is not a number";
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string name = lower_ascii(line.substr(0, colon));
      const std::string_view value = trim(std::string_view(line).substr(colon + 1), " \t\r");
      if (name == "warc-type") headers_.type = value;
      if (name == "warc-trec-id") headers_.trec_id = value;
      if (name == "warc-record-id") headers_.record_id = value;
      if (name == "content-length") {
        any_length = true;
        headers_.length = whole_number(value);
      }
    }
    return "headers over 1 MiB";
  }

  static std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  // Whether the record is a document. Consumes its body as far as its length is credible: find_record() skips anything
  // beyond a page's Content-Length, as ir_datasets' parsers do.
  bool read_body(Document& document) {
    const bool response = lower_ascii(headers_.type) == "response";
    if (*headers_.length > kMaxRecord) {
      // Its length may be wrong, so it is not used to skip the record: the reader searches for the next line WARC/.
      if (response) part_.malformed("record over 64 MiB", document.line);
      return false;
    }
    const auto length = usable_length(static_cast<std::size_t>(*headers_.length), response, document.line);
    if (!length) return false;
    const bool read = response && read_page(bytes_.ahead().substr(0, *length), document);
    bytes_.consume(*length);
    return read;
  }

  // How much of the body belongs to the record. Reports a length that reaches into another record or beyond the file
  // and returns nothing. ClueWeb09's published sample lacks the status lines that its lengths count, so in WARC 0.18
  // the body ends at that other record.
  std::optional<std::size_t> usable_length(std::size_t claimed, bool response, std::int64_t line) {
    const bool complete = bytes_.have(claimed);
    if (complete && ends_at(claimed)) return claimed;
    const auto next = start_of_next_record(claimed);
    if (headers_.old_version) return next.value_or(std::min(claimed, bytes_.ahead().size()));
    if (complete && !next) return claimed;
    if (response) part_.malformed(complete ? "wrong Content-Length" : "the record is cut off", line);
    return std::nullopt;
  }

  // Position of another record within the claimed length; nothing if there is none.
  std::optional<std::size_t> start_of_next_record(std::size_t claimed) {
    const std::string_view start = headers_.old_version ? "\nWARC/0.18\n" : "\nWARC/1.";
    bytes_.have(claimed + start.size());
    const std::size_t at = bytes_.ahead().substr(0, claimed + start.size() - 2).find(start);
    if (at == std::string_view::npos) return std::nullopt;
    return at + 1;
  }

  // Whether the bytes from `at` on are empty lines and then a record or the end of the file.
  bool ends_at(std::size_t at) {
    const std::size_t last = at + kMaxHeaders;
    while (at < last && bytes_.have(at + 1) && (bytes_.ahead()[at] == '\n' || bytes_.ahead()[at] == '\r')) ++at;
    return !bytes_.have(at + 1) ||
           (bytes_.have(at + kRecordStart.size()) && bytes_.ahead().substr(at).starts_with(kRecordStart));
  }

  bool read_page(std::string_view payload, Document& document) {
    document.id = headers_.trec_id;
    if (document.id.empty() && need_trec_id_) return part_.malformed("no WARC-TREC-ID", document.line);
    if (document.id.empty()) document.id = headers_.record_id;
    if (document.id.starts_with('<') && document.id.ends_with('>'))
      document.id = document.id.substr(1, document.id.size() - 2);
    if (document.id.empty()) return part_.malformed("no WARC-TREC-ID or WARC-Record-ID", document.line);
    const HttpResponse response = split_http(payload);
    try {
      document.text = text_of_page(response.body, response.headers);
    } catch (const Error& error) {
      return part_.malformed(error.problem(), document.line);
    }
    return true;
  }

  const CorpusPart part_;
  ByteBuffer bytes_;
  bool need_trec_id_;
  Headers headers_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_warc(const CorpusPart& part) { return std::make_unique<WarcReader>(part, false); }

std::unique_ptr<DocumentReader> read_clueweb(const CorpusPart& part) {
  return std::make_unique<WarcReader>(part, true);
}

}  // namespace relucent::index_tools
