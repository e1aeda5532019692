#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace relucent {

/// CRC-64 (ECMA-182, reflected: the "CRC-64/XZ" of the catalogues). Finds every change of up to 64 bits in a row.
class Checksum {
 public:
  void add(std::string_view bytes) noexcept;
  std::uint64_t value() const noexcept { return ~state_; }

 private:
  std::uint64_t state_ = ~std::uint64_t{0};
};

std::uint64_t checksum(std::string_view bytes) noexcept;
/// Of a file's first `limit` bytes, or of all. `progress` hears of every piece read, in bytes. Throws Error `io`.
std::uint64_t checksum_of_file(const std::filesystem::path& file, std::int64_t limit = -1,
                               const std::function<void(std::int64_t)>& progress = {});

/// Sixteen hexadecimal digits, and back; throws Error `invalid_data` naming `place` for anything else.
std::string to_hex(std::uint64_t value);
std::uint64_t from_hex(std::string_view digits, std::string_view place);

}  // namespace relucent
