#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "base/file/file_io.h"
#include "base/utf8.h"
#include "index_tools/corpora/csv_reader.h"
#include "index_tools/corpora/json_record.h"
#include "index_tools/corpora/readers.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxParse = 64 * 1024 * 1024;

enum Column : std::size_t { kId, kTitle, kAbstract, kPmcFiles, kPdfFiles, kColumns };
constexpr std::array<const char*, kColumns> kNames = {"cord_uid", "title", "abstract", "pmc_json_files",
                                                      "pdf_json_files"};

// Reads the file; false if it is missing or too large.
bool read_parse(const fs::path& path, std::string& bytes) {
  std::error_code failure;
  const std::uintmax_t size = fs::file_size(path, failure);
  if (failure || size > kMaxParse) return false;
  bytes = read_file(path, kMaxParse);
  return true;
}

// ir_datasets opens metadata.csv as text when it looks up full texts, otherwise as bytes.
void use_newlines(std::string& text) {
  for (std::size_t i = text.find('\r'); i != std::string::npos; i = text.find('\r', i)) {
    text.replace(i, text.compare(i, 2, "\r\n") == 0 ? 2 : 1, "\n");
  }
}

class Cord19Reader : public DocumentReader {
 public:
  /// @param parses  the folder that full-text paths are relative to; empty for none
  Cord19Reader(LineReader& lines, fs::path parses) : lines_(lines), records_(lines), parses_(std::move(parses)) {}

  bool next(Document& document) override {
    if (!header_read_ && !read_header()) return false;
    while (records_.next(fields_)) {
      const char* problem = read(document);
      if (problem == nullptr) return true;
      lines_.malformed(problem, records_.line());
    }
    return false;
  }

 private:
  bool read_header() {
    if (!records_.next(fields_)) return false;
    const std::size_t needed = parses_.empty() ? kPmcFiles : kColumns;
    for (std::size_t i = 0; i < needed; ++i) {
      const auto found = std::find(fields_.begin(), fields_.end(), kNames[i]);
      if (found == fields_.end()) {
        throw Error(ErrorKind::invalid_data, fmt::format("{}:{}", lines_.part(), records_.line()),
                    fmt::format("the header line has no column {}", kNames[i]),
                    "use metadata.csv from the CORD-19 release of 2020-05-19 or later");
      }
      columns_[i] = static_cast<std::size_t>(found - fields_.begin());
    }
    width_ = fields_.size();
    return header_read_ = true;
  }

  const std::string& field(Column column) const { return fields_[columns_[column]]; }

  // The problem with the record; null if there is none.
  const char* read(Document& document) {
    if (fields_.size() != width_) return "not as many fields as the first line has";
    document.id = field(kId);
    document.text = field(kTitle) + " " + field(kAbstract);
    document.line = records_.line();
    if (parses_.empty()) return nullptr;
    use_newlines(document.text);
    document.text += ' ';
    const std::string& files = field(field(kPmcFiles).empty() ? kPdfFiles : kPmcFiles);
    return files.empty() ? nullptr : append_full_text(files.substr(0, files.find(';')), document.text);
  }

  const char* append_full_text(const fs::path& file, std::string& text) {
    if (file.is_absolute() || std::find(file.begin(), file.end(), "..") != file.end())
      return "a full text outside the release";
    std::string bytes;
    if (!read_parse(parses_ / file, bytes)) return "the full text's file is not there";
    replace_malformed_utf8(bytes);
    nlohmann::json parse;
    if (parse_json_object(bytes, parse) != nullptr) return "the full text's file is not a JSON object";
    const auto sections = parse.find("body_text");
    if (sections == parse.end()) return nullptr;
    if (!sections->is_array()) return "the full text's sections are not an array";
    bool first = true;
    for (const nlohmann::json& section : *sections) {
      if (!first) text += ' ';
      first = false;
      if (!section.is_object() || !append_text(section, "section", text)) return "a section without heading";
      text += ' ';
      if (!append_text(section, "text", text)) return "a section without text";
    }
    return nullptr;
  }

  LineReader& lines_;
  CsvReader records_;
  fs::path parses_;
  bool header_read_ = false;
  std::size_t width_ = 0;
  std::array<std::size_t, kColumns> columns_{};
  std::vector<std::string> fields_;
};

}  // namespace

std::unique_ptr<DocumentReader> read_cord19(LineReader& lines) {
  return std::make_unique<Cord19Reader>(lines, fs::path());
}

std::unique_ptr<DocumentReader> read_cord19_fulltext(LineReader& lines) {
  std::error_code failure;
  const fs::path metadata = fs::absolute(lines.part(), failure);
  if (failure || !fs::is_regular_file(metadata, failure)) {
    throw Error(ErrorKind::invalid_data, lines.part(), "is inside an archive, where its full texts cannot be looked up",
                "unpack the release and its document_parses.tar.gz, then pass the directory");
  }
  return std::make_unique<Cord19Reader>(lines, metadata.parent_path());
}

}  // namespace relucent::index_tools
