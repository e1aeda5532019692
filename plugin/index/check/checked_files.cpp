#include "plugin/index/check/checked_files.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "relucent/error.h"

namespace relucent::check {
namespace {

constexpr const char* kHeader = "relucent checked 1";

/// The text before the sums: the commit, and each file's time and sample. The file's first line states its length.
std::string head_of(const CheckedFiles& files) {
  std::string head = files.commit + '\n';
  for (const auto& [name, state] : files.states) {
    head += std::to_string(state.modified) + ' ' + to_hex(state.sample) + ' ' + name + '\n';
  }
  return head;
}

}  // namespace

std::optional<CheckedFiles> read_checked_files(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / CheckedFiles::kFileName;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  try {
    std::istringstream first(bytes.substr(0, bytes.find('\n')));
    std::string word, version, kind, sum;
    std::size_t length = 0;
    if (!(first >> word >> kind >> version >> length >> sum) || word + ' ' + kind + ' ' + version != kHeader)
      return std::nullopt;
    const std::size_t start = bytes.find('\n') + 1;
    if (length > bytes.size() - start) return std::nullopt;
    const std::string head = bytes.substr(start, length);
    if (to_hex(checksum(head)) != sum) return std::nullopt;
    CheckedFiles files;
    files.sums = segment::sums_from_bytes(std::string_view(bytes).substr(start + length), path.string());
    std::istringstream lines(head);
    std::getline(lines, files.commit);
    std::string sample, name;
    for (FileState state; lines >> state.modified >> sample && lines.get() == ' ' && std::getline(lines, name);) {
      state.sample = from_hex(sample, path.string());
      const auto known = files.sums.find(name);
      if (known == files.sums.end()) return std::nullopt;
      state.size = known->second.size;
      files.states[name] = state;
    }
    if (files.states.size() != files.sums.size()) return std::nullopt;
    return files;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_checked_files(const std::filesystem::path& folder, const CheckedFiles& files) {
  const std::string head = head_of(files);
  const std::filesystem::path path = folder / CheckedFiles::kFileName;
  const std::filesystem::path temporary = path.string() + '.' + std::to_string(::getpid()) + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << kHeader << ' ' << head.size() << ' ' << to_hex(checksum(head)) << '\n'
       << head << segment::to_bytes(files.sums);
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (!file || error) std::filesystem::remove(temporary, error);
}

}  // namespace relucent::check
