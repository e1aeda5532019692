#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "index_tools/corpora/byte_stream.h"

namespace relucent::index_tools {

/// A single record may have so many bytes; a longer one is malformed, so that memory stays bounded.
inline constexpr std::size_t kMaxRecord = 64 * 1024 * 1024;

/// A window on a stream: bytes are looked at before they are consumed, and lines are counted. One thread at a
/// time.
class ByteBuffer {
 public:
  /// `bytes` outlives this.
  explicit ByteBuffer(ByteStream& bytes) : bytes_(bytes) {}

  /// What was read and not yet consumed; valid until the next call that is not const.
  std::string_view ahead() const { return std::string_view(buffer_).substr(begin_); }
  /// Reads on; false at the end of the stream.
  bool more();
  /// Whether at least `count` bytes are ahead; reads on as needed.
  bool have(std::size_t count);
  bool at_end() { return !have(1); }
  /// The first `needle` ahead that starts at `from` or later, reading on up to the end or kMaxRecord
  /// bytes; npos where there is none.
  std::size_t find(std::string_view needle, std::size_t from = 0);

  /// Consumes a line, given without its LF or CRLF; false at the end. What a line has beyond kMaxRecord
  /// is lost.
  bool next_line(std::string& line);
  /// `count` is at most ahead().size().
  void consume(std::size_t count);
  /// Consumes everything up to the next `needle`, however far it is, or to the end, and tells which.
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
