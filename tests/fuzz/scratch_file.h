#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/temporary_folder.h"

namespace relucent::fuzz {

/// The folder of the files that a target reads; one for all inputs, because a new one takes longer than most readers.
inline const std::filesystem::path& scratch() {
  static const testing::TemporaryFolder folder;
  return folder.path();
}

/// Writes scratch()/name, in place of what it was.
inline std::filesystem::path scratch_file(const std::string& name, std::string_view bytes) {
  const std::filesystem::path file = scratch() / name;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) report("cannot write " + file.string());
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written <= 0) report("cannot write " + file.string());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(descriptor);
  return file;
}

/// The same, but without bytes there is no such file.
inline void optional_scratch_file(const std::string& name, std::string_view bytes) {
  static std::map<std::string, bool> exists;
  if (!bytes.empty()) {
    scratch_file(name, bytes);
  } else if (exists[name]) {
    std::filesystem::remove(scratch() / name);
  }
  exists[name] = !bytes.empty();
}

}  // namespace relucent::fuzz
