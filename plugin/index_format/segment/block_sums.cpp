#include "plugin/index_format/segment/block_sums.h"

#include <algorithm>

#include "base/file/random_file.h"
#include "plugin/index_format/segment/file_output.h"
#include "relucent/error.h"

namespace relucent::segment {
namespace {

constexpr std::string_view kHeader = "relucent blocks 1\n";

void put(std::string& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint64_t count_of_blocks(std::int64_t size) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(size), block = kBlockBytes;
  return bytes / block + (bytes % block == 0 ? 0 : 1);
}

class Bytes {
 public:
  Bytes(std::string_view bytes, std::string_view place) : left_(bytes), place_(place) {}
  std::string_view take(std::uint64_t count) {
    if (count > left_.size()) damaged();
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(8)) {
      value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
      shift += 8;
    }
    return value;
  }
  std::size_t left() const { return left_.size(); }
  [[noreturn]] void damaged() const {
    throw Error(ErrorKind::invalid_data, place_, "the recorded checksums of the index's files are damaged",
                "restore the file from a copy, or rebuild the index");
  }

 private:
  std::string_view left_;
  std::string place_;
};

}  // namespace

void RunningSum::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = static_cast<std::size_t>(kBlockBytes - sum_.size % kBlockBytes);
    const std::string_view piece = bytes.substr(0, room);
    bytes.remove_prefix(piece.size());
    block_.add(piece);
    whole_.add(piece);
    sum_.size += static_cast<std::int64_t>(piece.size());
    if (sum_.size % kBlockBytes == 0) {
      sum_.blocks.push_back(block_.value());
      block_ = {};
    }
  }
}

FileSum RunningSum::finish() const {
  FileSum sum = sum_;
  sum.checksum = whole_.value();
  if (sum.size % kBlockBytes != 0) sum.blocks.push_back(block_.value());
  return sum;
}

FileSum sum_of_file(const std::filesystem::path& path) {
  const RandomFile file(path);
  // Filling a large buffer takes longer than reading a small file.
  std::vector<char> buffer(static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 1, 1 << 18)));
  RunningSum sum;
  for (std::int64_t at = 0;;) {
    const std::size_t count = file.read(at, buffer.data(), buffer.size());
    if (count == 0) return sum.finish();
    sum.add({buffer.data(), count});
    at += static_cast<std::int64_t>(count);
  }
}

std::string to_bytes(const FileSums& sums) {
  std::string bytes(kHeader);
  put(bytes, sums.size());
  for (const auto& [name, sum] : sums) {
    put(bytes, name.size());
    bytes += name;
    put(bytes, static_cast<std::uint64_t>(sum.size));
    put(bytes, sum.checksum);
    for (const std::uint64_t block : sum.blocks) put(bytes, block);
  }
  put(bytes, checksum(bytes));
  return bytes;
}

std::size_t length_of_bytes(const FileSums& sums) {
  std::size_t length = kHeader.size() + 8 + 8;
  for (const auto& [name, sum] : sums) length += 8 + name.size() + 8 + 8 + 8 * count_of_blocks(sum.size);
  return length;
}

FileSums sums_from_bytes(std::string_view bytes, std::string_view place) {
  Bytes in(bytes, place);
  if (bytes.size() < kHeader.size() + 8 || in.take(kHeader.size()) != kHeader) in.damaged();
  if (Bytes(bytes.substr(bytes.size() - 8), place).number() != checksum(bytes.substr(0, bytes.size() - 8)))
    in.damaged();
  FileSums sums;
  for (std::uint64_t files = in.number(); files > 0; --files) {
    const std::string name(in.take(in.number()));
    FileSum& sum = sums[name];
    sum.size = static_cast<std::int64_t>(in.number());
    sum.checksum = in.number();
    if (sum.size < 0) in.damaged();
    const std::uint64_t blocks = count_of_blocks(sum.size);
    if (blocks > in.left() / 8) in.damaged();
    for (std::uint64_t i = 0; i < blocks; ++i) sum.blocks.push_back(in.number());
  }
  if (in.left() != 8) in.damaged();
  return sums;
}

FileSum write_block_sums(const std::filesystem::path& path, FileSums& files) {
  FileOutput file(path);
  file.bytes(to_bytes(files));
  for (auto& [name, sum] : files) sum.blocks = {};
  FileSum written = file.finish();
  written.blocks = {};
  return written;
}

}  // namespace relucent::segment
