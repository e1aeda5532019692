#include "index_tools/indexing/manifest.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/checksum.h"
#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "relucent/error.h"
#include "relucent/index_files.h"

namespace relucent::index_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "relucent manifest 1\n";
constexpr std::string_view kLast = "manifest ";
constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 30;

std::string to_text(const Manifest& manifest) {
  std::string text(kHeader);
  for (const auto& [name, entry] : manifest.files) {
    text += fmt::format("{} {} {}\n", to_hex(entry.checksum), entry.size, name);
  }
  return text + fmt::format("{}{}\n", kLast, to_hex(checksum(text)));
}

}  // namespace

bool in_manifest(const std::string& file_name) {
  return file_name.starts_with('_') || file_name.starts_with("segments");
}

Manifest make_manifest(const fs::path& index) {
  Manifest manifest;
  for (const IndexFiles::File& file : index_files(index).recorded)
    manifest.files[file.name] = {file.size, file.checksum};
  for (const auto& [name, is_folder] : entries_of(index)) {
    if (!in_manifest(name) || manifest.files.contains(name)) continue;
    const fs::path file = index / name;
    manifest.files[name] = {static_cast<std::int64_t>(fs::file_size(file)), checksum_of_file(file)};
  }
  return manifest;
}

void write_manifest(const fs::path& index, const Manifest& manifest) {
  write_file_atomically(index / Manifest::kFileName, to_text(manifest));
}

std::optional<Manifest> read_manifest(const fs::path& index) {
  const fs::path path = index / Manifest::kFileName;
  if (!fs::exists(path)) return std::nullopt;
  const std::string text = read_file(path, kMaxManifestBytes);
  const auto damaged = [&](const std::string& problem) {
    return Error(ErrorKind::invalid_data, path.string(), problem, "the disk or a copy damaged it; rebuild the index");
  };
  const std::size_t last = text.rfind(fmt::format("\n{}", kLast));
  if (!text.starts_with(kHeader) || last == std::string::npos || text.back() != '\n')
    throw damaged("is not a manifest");
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
  const fs::path path = index / Manifest::kFileName;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_io_error(path, "removing", errno);
}

}  // namespace relucent::index_tools
