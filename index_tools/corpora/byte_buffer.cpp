#include "index_tools/corpora/byte_buffer.h"

#include <algorithm>

namespace relucent::index_tools {
namespace {

constexpr std::size_t kKeptCapacity = 8 * 1024 * 1024;

}  // namespace

bool ByteBuffer::more() {
  if (ended_) return false;
  // Moving costs at most as many bytes as were consumed before.
  if (begin_ >= buffer_.size() - begin_) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.capacity() > kKeptCapacity && buffer_.size() < kKeptCapacity / 2) buffer_.shrink_to_fit();
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const std::size_t count = bytes_.read(buffer_.data() + before, kReadBytes);
  buffer_.resize(before + count);
  ended_ = count == 0;
  return !ended_;
}

bool ByteBuffer::have(std::size_t count) {
  while (buffer_.size() - begin_ < count) {
    if (!more()) return false;
  }
  return true;
}

std::size_t ByteBuffer::find(std::string_view needle, std::size_t from) {
  for (;;) {
    const std::string_view bytes = ahead();
    const std::size_t found = bytes.find(needle, from);
    if (found != std::string_view::npos) return found <= kMaxRecord ? found : std::string_view::npos;
    if (bytes.size() >= needle.size()) from = std::max(from, bytes.size() - needle.size() + 1);
    if (bytes.size() > kMaxRecord || !more()) return std::string_view::npos;
  }
}

bool ByteBuffer::next_line(std::string& line) {
  if (at_end()) return false;
  std::size_t end = find("\n");
  if (end == std::string_view::npos) end = std::min(ahead().size(), kMaxRecord);
  line.assign(ahead().substr(0, end));
  consume(end);
  if (skip_to("\n")) consume(1);
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

void ByteBuffer::consume(std::size_t count) {
  const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
  line_ += std::count(from, from + static_cast<std::ptrdiff_t>(count), '\n');
  begin_ += count;
}

bool ByteBuffer::skip_to(std::string_view needle) {
  for (;;) {
    const std::string_view bytes = ahead();
    const std::size_t found = bytes.find(needle);
    if (found != std::string_view::npos) {
      consume(found);
      return true;
    }
    if (bytes.size() >= needle.size()) consume(bytes.size() - needle.size() + 1);
    if (!more()) {
      consume(ahead().size());
      return false;
    }
  }
}

}  // namespace relucent::index_tools
