#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "index_tools/corpora/byte_buffer.h"
#include "index_tools/corpora/charset.h"
#include "index_tools/corpora/converted_text.h"
#include "index_tools/corpora/input_files.h"
#include "index_tools/corpora/readers.h"
#include "index_tools/corpora/web_page.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

// The id of a document that is a file: its path, with '%', white space, control characters and bytes that are not UTF-8
// percent-encoded, so that different paths have different ids.
std::string id_of_path(std::string_view path) {
  std::string id;
  while (!path.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence_length(path), 1);
    const std::string_view character = path.substr(0, length);
    path.remove_prefix(length);
    const auto byte = static_cast<unsigned char>(character.front());
    const bool kept = length > 1 || (byte > ' ' && byte < 0x7F && byte != '%');
    if (kept) {
      id += character;
    } else {
      fmt::format_to(std::back_inserter(id), "%{:02X}", byte);
    }
  }
  return id;
}

class FileReader : public DocumentReader {
 public:
  FileReader(const CorpusPart& part, bool html) : part_(part), html_(html) {}

  bool next(Document& document) override {
    if (std::exchange(done_, true)) return false;
    ByteBuffer buffer(part_.bytes);
    if (buffer.have(kMaxRecord + 1)) return part_.malformed("file over 64 MiB", 1);
    std::string_view bytes = buffer.ahead();
    document.id = id_of_path(part_.path);
    document.line = 1;
    if (!html_) {
      if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
      document.text = bytes;
      part_.report.repair(document.text);
      return true;
    }
    try {
      document.text = text_of_html_file(bytes);
    } catch (const Error& error) {
      return part_.malformed(error.problem(), 1);
    }
    return true;
  }

 private:
  const CorpusPart part_;
  const bool html_;
  bool done_ = false;
};

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
    part_.report.repair(document.text);
    return true;
  }

 private:
  ConvertedText convert() {
    ByteBuffer buffer(part_.bytes);
    if (buffer.have(kMaxRecord + 1)) return {{}, "a file over 64 MiB"};
    const std::string_view bytes = buffer.ahead();
    if (name_matches(part_.path, {"*.docx"})) return text_of_docx(bytes);
    if (name_matches(part_.path, {"*.html", "*.htm", "*.xhtml"})) return text_of_html_file_or_problem(bytes);
    return {text_of_plain(bytes), {}};
  }

  const CorpusPart part_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<DocumentReader> read_html(const CorpusPart& part) {
  return std::make_unique<FileReader>(part, !name_matches(part.path, {"*.txt"}));
}

std::unique_ptr<DocumentReader> read_text(const CorpusPart& part) { return std::make_unique<FileReader>(part, false); }

std::unique_ptr<DocumentReader> read_files(const CorpusPart& part) { return std::make_unique<AnyFileReader>(part); }

}  // namespace relucent::index_tools
