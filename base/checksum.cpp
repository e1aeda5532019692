#include "base/checksum.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent {
namespace {

constexpr std::uint64_t kPolynomial = 0xC96C5795D7870F42;  // ECMA-182, bits reversed
constexpr std::size_t kSlices = 16;                        // bytes processed at a time

using Tables = std::array<std::array<std::uint64_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

/// Reads eight bytes, the least significant first.
std::uint64_t eight_of(const char* bytes) noexcept {
  std::uint64_t eight = 0;
  for (int k = 0; k < 8; ++k) eight |= std::uint64_t{static_cast<unsigned char>(bytes[k])} << (8 * k);
  return eight;
}

}  // namespace

void Checksum::add(std::string_view bytes) noexcept {
  std::uint64_t crc = state_;
  const char* next = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; next += kSlices, left -= kSlices) {
    const std::uint64_t first = eight_of(next) ^ crc, second = eight_of(next + 8);
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      crc ^= kTables[kSlices - 1 - k][(first >> (8 * k)) & 0xFF] ^ kTables[7 - k][(second >> (8 * k)) & 0xFF];
    }
  }
  for (; left > 0; ++next, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*next)) & 0xFF];
  state_ = crc;
}

std::uint64_t checksum(std::string_view bytes) noexcept {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

std::uint64_t checksum_of_file(const std::filesystem::path& path, std::int64_t limit,
                               const std::function<void(std::int64_t)>& progress) {
  const UniqueFd file = open_regular_file(path);
  std::vector<char> buffer(1 << 18);
  Checksum sum;
  for (;;) {
    std::size_t wanted = buffer.size();
    if (limit >= 0) wanted = static_cast<std::size_t>(std::min<std::int64_t>(limit, static_cast<std::int64_t>(wanted)));
    const std::size_t count = wanted == 0 ? 0 : read_some(file.get(), buffer.data(), wanted, path);
    if (count == 0) return sum.value();
    sum.add({buffer.data(), count});
    if (limit >= 0) limit -= static_cast<std::int64_t>(count);
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
