#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace relucent {

/// CRC-64 (ECMA-182, reflected: "CRC-64/XZ"). Detects every change within 64 consecutive bits.
class Checksum {
 public:
  void add(std::string_view bytes) noexcept;
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::uint64_t checksum(std::string_view bytes) noexcept;
/// The checksum of a file's first `limit` bytes, or of all bytes if negative. Calls `progress` with the size of each
/// piece read, in bytes. Throws Error `io`.
std::uint64_t checksum_of_file(const std::filesystem::path& file, std::int64_t limit = -1,
                               const std::function<void(std::int64_t)>& progress = {});

/// To and from sixteen hexadecimal digits. from_hex throws Error `invalid_data` naming `place` for anything else.
std::string to_hex(std::uint64_t value);
std::uint64_t from_hex(std::string_view digits, std::string_view place);

}  // namespace relucent
