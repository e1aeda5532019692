#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/corpora/line_reader.h"

namespace relucent::index_tools {

/// Reads the records of a CSV text (RFC 4180) as Python's csv module does: quoted fields may contain commas, doubled
/// quotes and line ends; a quote in an unquoted field is text, and so is anything after a closing quote. Empty lines
/// are skipped. One thread at a time.
class CsvReader {
 public:
  /// `lines` outlives this.
  explicit CsvReader(LineReader& lines) : lines_(lines) {}

  /// False at the end. A quote that is not closed within 4 MiB is reported as malformed; reading continues with the
  /// next line.
  bool next(std::vector<std::string>& fields);
  /// First line, from 1, of the last record that next() returned.
  std::int64_t line() const { return line_; }

 private:
  struct Line {
    std::string text;
    std::string_view end;
    std::int64_t number;
  };
  bool next_line(Line& line);
  bool in_quotes(std::string_view text, std::vector<std::string>& fields);

  LineReader& lines_;
  std::deque<Line> kept_;  // lines that an unclosed quote swallowed
  std::int64_t line_ = 0;
  bool quoted_ = false;
};

}  // namespace relucent::index_tools
