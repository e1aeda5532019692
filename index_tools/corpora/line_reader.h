#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index_tools/corpora/byte_stream.h"
#include "index_tools/corpora/read_report.h"

namespace relucent::index_tools {

/// Lines of a text that end with LF or CRLF. Drops a byte order mark at the start; replaces malformed UTF-8 by U+FFFD
/// and counts it. Holds one line at a time. Throws Error `invalid_data` for a line over 256 MiB.
class LineReader {
 public:
  /// All three outlive this. `part` names the text in errors.
  LineReader(ByteStream& bytes, const std::string& part, ReadReport& report);

  /// False at the end. `line` does not include its line end.
  bool next(std::string& line);
  /// The line end of the last line that next() returned: "\n", "\r\n", or at the end of the text "" or "\r".
  std::string_view line_end() const { return line_end_; }
  /// Makes next() return the last line again.
  void put_back(std::string line);
  /// Number, from 1, of the last line that next() returned.
  std::int64_t number() const { return number_; }
  const std::string& part() const { return part_; }
  /// Counts the record of the current or an earlier line as malformed.
  void malformed(std::string_view kind, std::int64_t line) { report_.malformed(kind, part_, line); }

 private:
  bool fill();

  ByteStream& bytes_;
  const std::string& part_;
  ReadReport& report_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t number_ = 0;
  std::string_view line_end_;
  std::optional<std::string> put_back_;
};

}  // namespace relucent::index_tools
