#include "plugin/index_format/segment/deletions.h"

#include <fmt/core.h>

#include <bit>
#include <string>
#include <string_view>

#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent::segment {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;  // more than 2^31 bits and their gaps take

/// Reads Lucene's numbers from the bytes of a file.
class DeletionBytes {
 public:
  DeletionBytes(const std::filesystem::path& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ == bytes_.size()) damaged();
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::int32_t int32() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return static_cast<std::int32_t>(value);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t read = byte();
      value |= static_cast<std::uint64_t>(read & 0x7F) << shift;
      if (read < 0x80) return value;
    }
    damaged();
  }
  [[noreturn]] void damaged() const {
    throw Error(ErrorKind::invalid_data, file_.string(), "the list of deleted documents is damaged",
                "restore the index from a copy, or rebuild it");
  }

 private:
  const std::filesystem::path& file_;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Deletions::Deletions(std::int32_t documents)
    : documents_(documents), bits_(static_cast<std::size_t>(documents >> 3) + 1) {}

Deletions Deletions::read(const std::filesystem::path& file, std::int32_t documents) {
  const std::string content = read_file(file, kMaxBytes);
  DeletionBytes in(file, content);
  std::int32_t size = in.int32();
  const bool gaps = size == -1;  // few deletions: only the bytes that are not zero, each after its distance
  if (gaps) size = in.int32();
  const std::int32_t count = in.int32();
  if (size != documents || count < 0 || count > documents) in.damaged();
  Deletions read(documents);
  if (gaps) {
    std::uint64_t at = 0;
    while (read.count_ < count) {
      at += in.number();
      if (at >= read.bits_.size()) in.damaged();
      const std::uint8_t bits = in.byte();
      if (bits == 0) in.damaged();
      read.bits_[at] = bits;
      read.count_ += std::popcount(bits);
    }
  } else {
    for (std::uint8_t& bits : read.bits_) {
      bits = in.byte();
      read.count_ += std::popcount(bits);
    }
  }
  if (read.count_ != count) in.damaged();
  return read;
}

FileSum Deletions::write(const std::filesystem::path& file) const {
  FileOutput out(file);
  out.int32(documents_);
  out.int32(count_);
  out.bytes({reinterpret_cast<const char*>(bits_.data()), bits_.size()});
  return out.finish();
}

bool Deletions::insert(std::int32_t document) {
  if (contains(document)) return false;
  bits_[static_cast<std::size_t>(document >> 3)] |= static_cast<std::uint8_t>(1U << (document & 7));
  ++count_;
  return true;
}

std::vector<std::int32_t> Deletions::new_numbers(std::int32_t first) const {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(documents_));
  for (std::int32_t i = 0; i < documents_; ++i) {
    numbers[static_cast<std::size_t>(i)] = contains(i) ? -1 : first++;
  }
  return numbers;
}

}  // namespace relucent::segment
