#include "base/checksum.h"

#include <fmt/core.h>
#include <lzma.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/file/random_file.h"
#include "relucent/error.h"

namespace relucent {

void Checksum::add(std::string_view bytes) noexcept {
  value_ = lzma_crc64(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), value_);
}

std::uint64_t checksum(std::string_view bytes) noexcept {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::uint64_t checksum_of_file(const std::filesystem::path& path, std::int64_t limit,
                               const std::function<void(std::int64_t)>& progress) {
  const RandomFile file(path);
  // Filling a large buffer takes longer than reading a small file.
  std::vector<char> buffer(static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 1, 1 << 18)));
  Checksum sum;
  for (std::int64_t at = 0;;) {
    std::size_t wanted = buffer.size();
    if (limit >= 0) wanted = static_cast<std::size_t>(std::min(limit - at, static_cast<std::int64_t>(wanted)));
    const std::size_t count = wanted == 0 ? 0 : file.read(at, buffer.data(), wanted);
    if (count == 0) return sum.value();
    sum.add({buffer.data(), count});
    at += static_cast<std::int64_t>(count);
    if (progress) progress(static_cast<std::int64_t>(count));
  }
}

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::uint64_t from_hex(std::string_view digits, std::string_view place) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 16 || failure != std::errc() || end != digits.data() + digits.size()) {
    throw Error(ErrorKind::invalid_data, place, fmt::format("\"{}\" is not a checksum", digits),
                "restore the file from a copy, or rebuild the index");
  }
  return value;
}

}  // namespace relucent
