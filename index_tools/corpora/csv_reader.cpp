#include "index_tools/corpora/csv_reader.h"

#include <utility>

namespace relucent::index_tools {
namespace {

constexpr std::size_t kMaxCsvRecord = 4 * 1024 * 1024;

}  // namespace

bool CsvReader::next_line(Line& line) {
  if (!kept_.empty()) {
    line = std::move(kept_.front());
    kept_.pop_front();
    return true;
  }
  if (!lines_.next(line.text)) return false;
  line.end = lines_.line_end();
  line.number = lines_.number();
  return true;
}

// Reads one line of a record; returns whether its last field continues in the next line.
bool CsvReader::in_quotes(std::string_view text, std::vector<std::string>& fields) {
  std::size_t at = 0;
  for (;;) {
    if (!quoted_) {
      if (at < text.size() && text[at] == '"' && fields.back().empty()) {
        quoted_ = true;
        ++at;
      }
    }
    if (quoted_) {
      const std::size_t quote = text.find('"', at);
      fields.back().append(text, at, quote - at);
      if (quote == std::string_view::npos) return true;
      at = quote + 1;
      if (at < text.size() && text[at] == '"') {
        fields.back() += '"';
        ++at;
        continue;
      }
      quoted_ = false;
    }
    const std::size_t comma = text.find(',', at);
    fields.back().append(text, at, comma - at);
    if (comma == std::string_view::npos) return false;
    at = comma + 1;
    fields.emplace_back();
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  for (Line line; next_line(line);) {
    if (line.text.empty()) continue;
    line_ = line.number;
    fields.assign(1, {});
    quoted_ = false;
    std::deque<Line> swallowed;
    std::size_t bytes = 0;
    bool open = in_quotes(line.text, fields);
    while (open) {
      fields.back() += line.end;
      bytes += line.text.size();
      if (bytes > kMaxCsvRecord || !next_line(line)) break;
      swallowed.push_back(line);
      open = in_quotes(line.text, fields);
    }
    if (!open) return true;
    lines_.malformed("a quote that is never closed", line_);
    kept_.insert(kept_.begin(), std::make_move_iterator(swallowed.begin()), std::make_move_iterator(swallowed.end()));
  }
  return false;
}

}  // namespace relucent::index_tools
