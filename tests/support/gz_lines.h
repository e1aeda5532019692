#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace relucent::testing {

/// Calls `use` with every line of a plain or compressed file, without its '\n' (0x0A is the only line end).
/// Link LibArchive::LibArchive. Throws std::runtime_error where the file cannot be read to its end.
inline void for_each_line(const std::filesystem::path& path, const std::function<void(const std::string&)>& use) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  const auto check = [&](la_ssize_t status) {
    if (status < ARCHIVE_WARN) {
      const char* text = archive_error_string(reader.get());
      throw std::runtime_error(path.string() + ": " + (text != nullptr ? text : "cannot be read"));
    }
  };
  check(archive_read_open_filename(reader.get(), path.c_str(), 1 << 16));
  archive_entry* entry = nullptr;
  const int header = archive_read_next_header(reader.get(), &entry);
  if (header == ARCHIVE_EOF) return;
  check(header);

  std::string line;
  std::array<char, 1 << 16> block;
  for (;;) {
    const la_ssize_t bytes = archive_read_data(reader.get(), block.data(), block.size());
    check(bytes);
    if (bytes == 0) break;
    for (la_ssize_t i = 0; i < bytes; ++i) {
      const char byte = block[static_cast<std::size_t>(i)];
      if (byte == '\n') {
        use(line);
        line.clear();
      } else {
        line.push_back(byte);
      }
    }
  }
  if (!line.empty()) use(line);
}

}  // namespace relucent::testing
