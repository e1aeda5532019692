#include "index_tools/experiments/line_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "relucent/error.h"

namespace relucent::index_tools {
namespace {

void lock(int descriptor, const std::filesystem::path& file) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    throw Error(ErrorKind::io, file.string(), "another process is computing the same results",
                "wait until it has ended, or choose another --cache");
  }
  if (errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
    throw_io_error(file, "locking", errno);
  }
}

}  // namespace

LineCache::LineCache(const std::filesystem::path& folder, const Kind& kind, std::string_view description)
    : header_(fmt::format("relucent {} 2\n", kind.name)) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    throw Error(ErrorKind::io, folder.string(), "cannot be created: " + problem.message(), "choose another --cache");
  }
  for (std::size_t begin = 0; begin < description.size();) {
    const std::size_t end = std::min(description.find('\n', begin), description.size());
    header_ += fmt::format("# {}\n", description.substr(begin, end - begin));
    begin = end + 1;
  }
  file_ = folder / (to_hex(checksum(description)) + std::string(kind.extension));
  descriptor_ = UniqueFd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!descriptor_) throw_io_error(file_, "opening", errno);
  if (kind.exclusive) lock(descriptor_.get(), file_);
  const std::string text = read_file(file_, kAnySize);
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    take(std::string_view(text).substr(begin, end - begin));
  }
  if (begin == 0) {  // also in place of a part of the header
    if (::ftruncate(descriptor_.get(), 0) != 0) throw_io_error(file_, "truncating", errno);
    write_all(descriptor_.get(), header_, file_);
  } else if (begin < text.size()) {  // a killed process did not finish the line
    if (!kind.exclusive) {
      take(std::string_view(text).substr(begin));
      write_all(descriptor_.get(), "\n", file_);
    } else if (::ftruncate(descriptor_.get(), static_cast<off_t>(begin)) != 0) {
      throw_io_error(file_, "truncating", errno);
    }
  }
}

/// Covers the header, which is in the file for readers alone.
std::string LineCache::checksum_of(std::string_view line) const {
  Checksum sum;
  sum.add(header_);
  sum.add(line);
  return to_hex(sum.value());
}

/// A line is "key | text checksum".
void LineCache::take(std::string_view line) {
  const std::size_t bar = line.find(" | "), last = line.rfind(' ');
  if (bar == std::string_view::npos || last < bar + 3) return;
  const std::string_view checked = line.substr(0, last);
  if (checksum_of(checked) != line.substr(last + 1)) return;
  texts_[std::string(line.substr(0, bar))] = checked.substr(bar + 3);
}

const std::string* LineCache::find(const std::string& key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? nullptr : &found->second;
}

void LineCache::add(const std::string& key, const std::string& text) {
  const std::string line = key + " | " + text;
  write_all(descriptor_.get(), fmt::format("{} {}\n", line, checksum_of(line)), file_);
  texts_[key] = text;
}

}  // namespace relucent::index_tools
