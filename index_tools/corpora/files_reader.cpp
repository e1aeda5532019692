#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/charset.h"
#include "index_tools/corpora/docx_text.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/corpora/path_id.h"
#include "index_tools/corpora/pdf_text.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

ConvertedText text_of_html_file_or_problem(std::string_view page) {
  try {
    return {text_of_html_file(page), {}};
  } catch (const Error&) {
    return {{}, "HTML that is nested too deep, or has too many attributes"};
  }
}

std::string text_of_plain(std::string_view bytes) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
  return utf16 ? *decode_charset(bytes, "utf-16") : std::string(bytes);
}

/// The one document of a file of any of the formats.
class AnyFileReader : public DocumentReader {
 public:
  explicit AnyFileReader(const CorpusPart& part) : part_(part) {}

  bool next(Document& document) override {
    if (std::exchange(done_, true)) return false;
    ConvertedText converted = name_matches(part_.path, {"*.pdf"}) ? text_of_pdf(part_.bytes) : convert();
    if (!converted.problem.empty()) {
      part_.report.skipped_file(converted.problem, part_.name);
      return false;
    }
    document.id = id_of_path(part_.path);
    document.line = 1;
    document.text = std::move(converted.text);
    if (const std::size_t replaced = replace_malformed_utf8(document.text); replaced > 0)
      part_.report.replaced(replaced);
    return true;
  }

 private:
  ConvertedText convert() {
    ByteBuffer buffer(part_.bytes);
    while (buffer.ahead().size() <= kMaxRecord && buffer.more()) {
    }
    const std::string_view bytes = buffer.ahead();
    if (bytes.size() > kMaxRecord) return {{}, "a file over 64 MiB"};
    if (name_matches(part_.path, {"*.docx"})) return text_of_docx(bytes);
    if (name_matches(part_.path, {"*.html", "*.htm", "*.xhtml"})) return text_of_html_file_or_problem(bytes);
    return {text_of_plain(bytes), {}};
  }

  const CorpusPart part_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> read_files(const CorpusPart& part) { return std::make_unique<AnyFileReader>(part); }

}  // namespace relucent::index_tools
