#include "index_tools/corpora/line_reader.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr std::size_t kMaxLine = 256 * 1024 * 1024;

}  // namespace

LineReader::LineReader(ByteStream& bytes, const std::string& part, ReadReport& report)
    : bytes_(bytes), part_(part), report_(report), buffer_(kReadBytes) {}

bool LineReader::fill() {
  begin_ = 0;
  end_ = bytes_.read(buffer_.data(), buffer_.size());
  return end_ > 0;
}

void LineReader::put_back(std::string line) {
  put_back_ = std::move(line);
  --number_;
}

bool LineReader::next(std::string& line) {
  if (put_back_) {
    line = std::move(*put_back_);
    put_back_.reset();
    ++number_;
    return true;
  }
  line.clear();
  if (begin_ == end_ && !fill()) return false;
  ++number_;
  bool newline_seen = false;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const std::size_t count = newline != nullptr ? static_cast<std::size_t>(newline - from) : end_ - begin_;
    line.append(from, count);
    begin_ += count + (newline != nullptr ? 1 : 0);
    newline_seen = newline != nullptr;
    if (newline_seen || !fill()) break;
    if (line.size() > kMaxLine) {
      throw Error(ErrorKind::invalid_data, fmt::format("{}:{}", part_, number_), "the line is longer than 256 MiB",
                  "check that this is a text file in the corpus's format");
    }
  }
  const bool carriage_return = !line.empty() && line.back() == '\r';
  if (carriage_return) line.pop_back();
  line_end_ = newline_seen ? (carriage_return ? "\r\n" : "\n") : (carriage_return ? "\r" : "");
  if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  report_.repair(line);
  return true;
}

}  // namespace relucent::index_tools
