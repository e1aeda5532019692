#include "plugin/index_format/check/checked_files.h"

#include <fmt/core.h>

#include <sstream>

#include "base/file/atomic_file.h"
#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent::check {
namespace {

constexpr const char* kHeader = "relucent checked 1";
/// For files of an earlier commit that are gone: 32 GB of them.
constexpr std::size_t kMoreBytes = std::size_t{16} << 20;

std::size_t most_bytes(const segment::FileSums& files) {
  constexpr std::size_t line = 128;  // a time, a sample and separators; the first line and the commit are no longer
  std::size_t bytes = kMoreBytes + 2 * line + segment::length_of_bytes(files);
  for (const auto& [name, sum] : files) bytes += line + name.size();
  return bytes;
}

/// The text before the sums: the commit, and each file's time and sample. The file's first line states its length.
std::string head_of(const CheckedFiles& files) {
  std::string head = files.commit + '\n';
  for (const auto& [name, state] : files.states) {
    head += fmt::format("{} {} {}\n", state.modified, to_hex(state.sample), name);
  }
  return head;
}

}  // namespace

std::optional<CheckedFiles> read_checked_files(const std::filesystem::path& folder, const segment::FileSums& files) {
  const std::filesystem::path path = folder / CheckedFiles::kFileName;
  try {
    const std::string bytes = read_file(path, most_bytes(files));
    std::istringstream first(bytes.substr(0, bytes.find('\n')));
    std::string word, version, kind, sum;
    std::size_t length = 0;
    if (!(first >> word >> kind >> version >> length >> sum) || fmt::format("{} {} {}", word, kind, version) != kHeader)
      return std::nullopt;
    const std::size_t start = bytes.find('\n') + 1;
    if (length > bytes.size() - start) return std::nullopt;
    const std::string head = bytes.substr(start, length);
    if (to_hex(checksum(head)) != sum) return std::nullopt;
    CheckedFiles known;
    known.sums = segment::sums_from_bytes(std::string_view(bytes).substr(start + length), path.string());
    std::istringstream lines(head);
    std::getline(lines, known.commit);
    std::string sample, name;
    for (FileState state; lines >> state.modified >> sample && lines.get() == ' ' && std::getline(lines, name);) {
      state.sample = from_hex(sample, path.string());
      const auto recorded = known.sums.find(name);
      if (recorded == known.sums.end()) return std::nullopt;
      state.size = recorded->second.size;
      known.states[name] = state;
    }
    if (known.states.size() != known.sums.size()) return std::nullopt;
    return known;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_checked_files(const std::filesystem::path& folder, const CheckedFiles& files) {
  const std::string head = head_of(files);
  try {
    write_file_atomically(folder / CheckedFiles::kFileName,
                          fmt::format("{} {} {}\n{}{}", kHeader, head.size(), to_hex(checksum(head)), head,
                                      segment::to_bytes(files.sums)));
  } catch (const Error&) {  // then the next opening checks again
  }
}

}  // namespace relucent::check
