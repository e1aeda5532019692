#include "index/segments_file.h"

#include <boost/crc.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace relucent {
namespace {

constexpr std::int32_t kFirstFormatWithChecksum = -5;  // formats count downwards

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

bool is_sound_segments_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() < 12) return false;
  const std::string_view all(bytes);
  if (static_cast<std::int32_t>(big_endian(all.substr(0, 4))) > kFirstFormatWithChecksum) return true;
  boost::crc_32_type sum;
  sum.process_bytes(bytes.data(), bytes.size() - 8);
  return big_endian(all.substr(bytes.size() - 8)) == sum.checksum();
}

std::vector<std::string> segments_files(const std::filesystem::path& folder) {
  constexpr std::string_view kPrefix = "segments_";
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(name);
  }
  // N is a number to base 36: the longer name is the newer one.
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  return names;
}

}  // namespace relucent
