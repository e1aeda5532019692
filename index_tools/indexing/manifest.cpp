#include "index_tools/indexing/manifest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "plugin/index/segment/checksum.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "relucent manifest 1\n";
constexpr std::string_view kLast = "manifest ";

std::string to_text(const Manifest& manifest) {
  std::string text(kHeader);
  for (const auto& [name, entry] : manifest.files) {
    text += to_hex(entry.checksum) + " " + std::to_string(entry.size) + " " + name + "\n";
  }
  return text + std::string(kLast) + to_hex(checksum(text)) + "\n";
}

[[noreturn]] void fail(const fs::path& path, const std::string& doing) {
  throw Error(ErrorKind::io, path.string(), doing + " failed: " + std::strerror(errno),
              "check the disk's free space and the permissions");
}

void write_durably(const fs::path& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path, "opening for writing");
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      ::close(file);
      ::unlink(path.c_str());
      errno = reason;
      fail(path, "writing");
    }
    written += static_cast<std::size_t>(count);
  }
  const bool synced = ::fsync(file) == 0;
  if (::close(file) != 0 || !synced) fail(path, "writing");
}

}  // namespace

bool in_manifest(const std::string& file_name) {
  return file_name.starts_with('_') || file_name.starts_with("segments");
}

Manifest make_manifest(const fs::path& index) {
  Manifest manifest;
  for (const IndexFiles::File& file : index_files(index).recorded)
    manifest.files[file.name] = {file.size, file.checksum};
  std::error_code failure;
  for (fs::directory_iterator i(index, failure), end; !failure && i != end; i.increment(failure)) {
    const std::string name = i->path().filename().string();
    if (!in_manifest(name) || manifest.files.contains(name)) continue;
    manifest.files[name] = {static_cast<std::int64_t>(fs::file_size(i->path())), checksum_of_file(i->path())};
  }
  if (failure) throw Error(ErrorKind::io, index.string(), "the folder cannot be read: " + failure.message());
  return manifest;
}

void write_manifest(const fs::path& index, const Manifest& manifest) {
  const fs::path path = index / Manifest::file_name;
  fs::path temporary = path;
  temporary += ".new";
  write_durably(temporary, to_text(manifest));
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "renaming");
  if (const int folder = ::open(index.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

std::optional<Manifest> read_manifest(const fs::path& index) {
  const fs::path path = index / Manifest::file_name;
  if (!fs::exists(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto damaged = [&](const std::string& problem) {
    return Error(ErrorKind::invalid_data, path.string(), problem, "the disk or a copy has damaged it; index again");
  };
  if (!file) throw damaged("cannot be read");
  const std::size_t last = text.rfind(std::string("\n") + std::string(kLast));
  if (!text.starts_with(kHeader) || last == std::string::npos || text.back() != '\n') throw damaged("is no manifest");
  const std::string_view body(text.data(), last + 1);
  const std::size_t sum_at = last + 1 + kLast.size();
  if (from_hex(std::string_view(text).substr(sum_at, text.size() - sum_at - 1), path.string()) != checksum(body)) {
    throw damaged("its checksum is wrong");
  }
  Manifest manifest;
  std::istringstream lines{std::string(body.substr(kHeader.size()))};
  std::string sum, name;
  Manifest::Entry entry;
  while (lines >> sum >> entry.size && lines.get() == ' ' && std::getline(lines, name)) {
    entry.checksum = from_hex(sum, path.string());
    manifest.files[name] = entry;
  }
  return manifest;
}

void remove_manifest(const fs::path& index) {
  const fs::path path = index / Manifest::file_name;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(path, "removing");
}

}  // namespace relucent::index_tools
