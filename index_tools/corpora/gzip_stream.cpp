#include "index_tools/corpora/gzip_stream.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

constexpr int kGzipOnly = 15 + 16;  // zlib's largest window, plus its flag for gzip
constexpr unsigned char kGzipMagic[] = {0x1F, 0x8B};

}  // namespace

struct GzipStream::Implementation {
  ByteStream& source;
  std::string name;
  std::vector<char> buffer = std::vector<char>(kReadBytes);
  ::z_stream zlib{};
  std::int64_t consumed = 0;  // compressed bytes taken from the source
  bool in_member = true, finished = false;

  Implementation(ByteStream& stream, std::string given) : source(stream), name(std::move(given)) {
    if (::inflateInit2(&zlib, kGzipOnly) != Z_OK) throw Error(ErrorKind::io, name, "out of memory");
  }
  ~Implementation() { ::inflateEnd(&zlib); }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorKind::invalid_data, fmt::format("{}: byte {}", name, consumed - zlib.avail_in),
                fmt::format("the gzip data is damaged or truncated ({})", reason), "download or recreate the file");
  }

  bool fill() {
    if (zlib.avail_in > 0) return true;
    const std::size_t count = source.read(buffer.data(), buffer.size());
    consumed += static_cast<std::int64_t>(count);
    zlib.next_in = reinterpret_cast<Bytef*>(buffer.data());
    zlib.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  // After a member: another one, zeros up to a block's end as tapes leave them, or the end.
  bool next_member() {
    while (fill()) {
      if (*zlib.next_in == kGzipMagic[0]) {
        if (::inflateReset(&zlib) != Z_OK) fail("internal state");
        return in_member = true;
      }
      if (*zlib.next_in != 0) fail("trailing bytes that are not gzip");
      ++zlib.next_in;
      --zlib.avail_in;
    }
    finished = true;
    return false;
  }
};

GzipStream::GzipStream(ByteStream& source, std::string name)
    : implementation_(std::make_unique<Implementation>(source, std::move(name))) {}

GzipStream::~GzipStream() = default;

std::size_t GzipStream::read(char* out, std::size_t capacity) {
  auto& self = *implementation_;
  capacity = std::min<std::size_t>(capacity, std::numeric_limits<uInt>::max());
  self.zlib.next_out = reinterpret_cast<Bytef*>(out);
  self.zlib.avail_out = static_cast<uInt>(capacity);
  while (self.zlib.avail_out == capacity && !self.finished) {
    if (!self.in_member && !self.next_member()) break;
    if (!self.fill()) self.fail("unexpected end");
    const int status = ::inflate(&self.zlib, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      self.in_member = false;
    } else if (status != Z_OK) {
      self.fail(self.zlib.msg != nullptr ? self.zlib.msg : "no reason given");
    }
  }
  return capacity - self.zlib.avail_out;
}

PeekedStream::PeekedStream(ByteStream& source, std::size_t bytes) : source_(source), first_(bytes, '\0') {
  std::size_t filled = 0;
  while (filled < first_.size()) {
    const std::size_t count = source_.read(first_.data() + filled, first_.size() - filled);
    if (count == 0) break;
    filled += count;
  }
  first_.resize(filled);
}

bool PeekedStream::starts_gzip() const {
  return first_.size() >= 2 && static_cast<unsigned char>(first_[0]) == kGzipMagic[0] &&
         static_cast<unsigned char>(first_[1]) == kGzipMagic[1];
}

std::size_t PeekedStream::read(char* buffer, std::size_t capacity) {
  if (given_ == first_.size()) return source_.read(buffer, capacity);
  const std::size_t count = first_.copy(buffer, capacity, given_);
  given_ += count;
  return count;
}

std::int64_t PeekedStream::seek(std::int64_t offset, int whence) {
  // libarchive seeks by 0 to learn the position. The source is ahead of it by the inspected bytes.
  if (whence == SEEK_CUR) offset -= static_cast<std::int64_t>(first_.size() - given_);
  given_ = first_.size();
  return source_.seek(offset, whence);
}

}  // namespace relucent::index_tools
