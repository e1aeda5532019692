#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// Problems found while reading: records that were skipped, by kind with a few locations, and text that was repaired.
class ReadReport {
 public:
  struct Kind {
    std::int64_t count = 0;
    std::vector<std::string> examples;  ///< the first few locations: file:line
  };

  /// @param strict  makes malformed() throw for the first record
  explicit ReadReport(bool strict = false) : strict_(strict) {}

  /// Counts a skipped record. `kind` states the problem in a few words, the same for all records of its kind.
  /// Throws Error `invalid_data` if the report is strict, and if more than half of many records are malformed, because
  /// the file then has another format.
  void malformed(std::string_view kind, std::string_view part, std::int64_t line);
  /// Counts a file that holds a document, but whose text cannot be had. `why` is in a few words, the same for all files
  /// with the same problem. Does not count as malformed. Throws Error `invalid_data` if the report is strict.
  void skipped_file(std::string_view why, std::string_view part);
  void document() { ++documents_; }
  void empty_text() { ++empty_texts_; }
  /// Replaces malformed UTF-8 in the text by U+FFFD and counts it.
  void repair(std::string& text);

  std::int64_t documents() const { return documents_; }
  std::int64_t malformed_records() const { return malformed_; }
  std::int64_t skipped_files() const { return skipped_files_; }
  std::int64_t empty_texts() const { return empty_texts_; }
  std::int64_t replaced_sequences() const { return replaced_; }
  const std::map<std::string, Kind, std::less<>>& kinds() const { return kinds_; }
  const std::map<std::string, Kind, std::less<>>& skipped_kinds() const { return skipped_kinds_; }
  /// Share of malformed records among all records, 0 to 1.
  double malformed_share() const;
  /// "3 records skipped: no tab (a.tsv:7, a.tsv:9, ...)"; empty if there are none.
  std::string malformed_summary() const;
  /// "2 files skipped: a damaged DOCX (a.docx, b.docx)"; empty if there are none.
  std::string skipped_summary() const;

 private:
  bool strict_;
  std::int64_t documents_ = 0, malformed_ = 0, skipped_files_ = 0, empty_texts_ = 0, replaced_ = 0;
  std::map<std::string, Kind, std::less<>> kinds_, skipped_kinds_;
};

}  // namespace relucent::index_tools
