#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// Maximum bytes of a single record. A longer one is malformed, which bounds memory.
inline constexpr std::size_t kMaxRecord = 64 * 1024 * 1024;

/// A window on a stream: callers look at bytes before they consume them, and lines are counted. One thread at a time.
class ByteBuffer {
 public:
  /// `bytes` outlives this.
  explicit ByteBuffer(ByteStream& bytes) : bytes_(bytes) {}

  /// The bytes read but not yet consumed; valid until the next non-const call.
  std::string_view ahead() const { return std::string_view(buffer_).substr(begin_); }
  /// Reads more bytes; false at the end of the stream.
  bool more();
  /// Whether at least `count` bytes are ahead; reads more as needed.
  bool have(std::size_t count);
  bool at_end() { return !have(1); }
  /// Position of the first `needle` ahead, at `from` or later; npos if there is none. Reads up to the end of the stream
  /// or kMaxRecord bytes.
  std::size_t find(std::string_view needle, std::size_t from = 0);

  /// Consumes a line and returns it without its LF or CRLF; false at the end. Bytes beyond kMaxRecord are dropped.
  bool next_line(std::string& line);
  /// `count` is at most ahead().size().
  void consume(std::size_t count);
  /// Consumes everything up to the next `needle`, however far away, or to the end. Returns whether it found `needle`.
  bool skip_to(std::string_view needle);

  /// Line of the first byte ahead, from 1.
  std::int64_t line() const { return line_; }

 private:
  ByteStream& bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool ended_ = false;
  std::int64_t line_ = 1;
};

}  // namespace relucent::index_tools
