#include "plugin/index_format/records/segment_records_writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/checksum.h"
#include "base/file/file_io.h"
#include "plugin/index_format/records/records_format.h"
#include "relucent/error.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::string_view kPartSuffix = ".part";

/// Opens the file and locks it against other processes for as long as the descriptor lives.
UniqueFd open_locked(const fs::path& path) {
  for (;;) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file) throw_io_error(path, "creating", errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) throw_io_error(path, "locking", errno);
      throw Error(ErrorKind::io, path.string(), "another process is writing it", "wait until it has finished");
    }
    // Another process may have put the file in place between the two calls.
    struct stat mine {
    }, named{};
    if (::fstat(file.get(), &mine) != 0) throw_io_error(path, "opening", errno);
    if (::stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev) return file;
  }
}

}  // namespace

RecordsLock::RecordsLock(const fs::path& index) : folder_(::open(index.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_) throw_io_error(index, "opening", errno);
  int failure = 0;
  do {
    failure = ::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (failure == EINTR);
  if (failure == 0) return;
  if (failure != EWOULDBLOCK) throw_io_error(index, "locking", failure);
  throw Error(ErrorKind::io, index.string(), "another process is writing its embeddings or graphs",
              "wait until it has finished");
}

SegmentRecordsWriter::SegmentRecordsWriter(const fs::path& index, const RecordsKind& kind, const RecordsHeader& header)
    : target_(records_file(index, kind, header.segment.name)),
      part_(target_.string() + std::string(kPartSuffix)),
      header_(header),
      header_bytes_(records::header_bytes(header, kind)),
      sum_(records::get64(header_bytes_, header_bytes_.size() - 8)),
      file_(open_locked(part_)) {
  resume();
  if (::ftruncate(file_.get(), static_cast<off_t>(written_)) != 0) throw_io_error(part_, "writing", errno);
  if (::lseek(file_.get(), static_cast<off_t>(written_), SEEK_SET) < 0) throw_io_error(part_, "writing", errno);
  if (written_ == 0) buffer_ = header_bytes_;
}

void SegmentRecordsWriter::resume() {
  const RandomFile part(part_);
  std::string start(header_bytes_.size(), '\0');
  start.resize(part.read(0, start.data(), start.size()));
  if (start != header_bytes_) return;
  written_ = header_bytes_.size();
  for (; documents_ < header_.segment.documents; ++documents_) {
    const auto read =
        records::find_record(part, written_, static_cast<std::uint64_t>(part.size()), header_, sum_, documents_);
    if (!read) return;
    if (header_.record_bytes == 0) places_.push_back(written_);
    written_ += read->size;
  }
}

void SegmentRecordsWriter::add(std::optional<std::string_view> record) {
  if (documents_ == header_.segment.documents) {
    throw Error(ErrorKind::usage, target_.string(), "has a record for every document of the segment already",
                "add one record per document");
  }
  if (record && !record->empty() &&
      (header_.record_bytes != 0 ? record->size() != header_.record_bytes : record->size() > kMaxRecordBytes)) {
    throw Error(ErrorKind::usage, target_.string(),
                fmt::format("cannot take a record of {} bytes for document {}", record->size(), documents_),
                header_.record_bytes != 0 ? fmt::format("give it {} bytes", header_.record_bytes)
                                          : fmt::format("give it at most {} bytes", kMaxRecordBytes));
  }
  if (header_.record_bytes == 0) places_.push_back(written_ + buffer_.size());
  records::put_record(buffer_, header_, sum_, documents_, record);
  ++documents_;
  if (buffer_.size() >= kBufferBytes) flush();
}

void SegmentRecordsWriter::flush() {
  write_all(file_.get(), buffer_, part_);
  written_ += buffer_.size();
  buffer_.clear();
}

void SegmentRecordsWriter::commit() {
  if (documents_ != header_.segment.documents) {
    throw Error(ErrorKind::usage, target_.string(),
                fmt::format("has {} of {} records", documents_, header_.segment.documents),
                "add one record per document");
  }
  if (header_.record_bytes == 0) {
    std::string places;
    for (const std::uint64_t place : places_) records::put64(places, place);
    records::put64(places, checksum(places));
    buffer_ += places;
  }
  const std::uint64_t size = written_ + buffer_.size() + records::kEnd;
  records::put64(buffer_, records::end_mark(sum_, size));
  flush();
  sync_descriptor(file_.get(), part_);
  if (std::rename(part_.c_str(), target_.c_str()) != 0) throw_io_error(target_, "renaming", errno);
  file_.reset();  // and with it the lock
  sync_directory(target_.parent_path());
}

namespace {

/// The names of the files of a kind, whole or not, besides these.
std::vector<std::string> records_besides(const fs::path& index, const RecordsKind& kind,
                                         const std::vector<std::string>& kept) {
  std::vector<std::string> others;
  const std::string suffix = fmt::format(".{}", kind.name);
  std::error_code failure;
  for (fs::directory_iterator entry(index, failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    std::string_view whole = name;
    if (whole.ends_with(kPartSuffix)) whole.remove_suffix(kPartSuffix.size());
    if (!whole.starts_with("relucent-_") || !whole.ends_with(suffix)) continue;
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) others.push_back(name);
  }
  if (failure) throw_io_error(index, "listing the directory", failure.value());
  std::ranges::sort(others);
  return others;
}

std::vector<std::string> names_of(const RecordsKind& kind, const std::vector<SegmentIdentity>& segments) {
  std::vector<std::string> names;
  for (const SegmentIdentity& segment : segments) names.push_back(records_file({}, kind, segment.name).string());
  return names;
}

}  // namespace

std::vector<std::string> other_records(const fs::path& index, const RecordsKind& kind,
                                       const std::vector<SegmentIdentity>& segments) {
  std::vector<std::string> kept = names_of(kind, segments);
  for (std::size_t i = segments.size(); i-- > 0;) kept.push_back(kept[i] + std::string(kPartSuffix));
  return records_besides(index, kind, kept);
}

std::vector<std::string> remove_other_records(const fs::path& index, const RecordsKind& kind,
                                              const std::vector<SegmentIdentity>& segments) {
  std::vector<std::string> removed = records_besides(index, kind, names_of(kind, segments));
  for (const std::string& name : removed) {
    if (::unlink((index / name).c_str()) != 0 && errno != ENOENT) throw_io_error(index / name, "removing", errno);
  }
  return removed;
}

}  // namespace relucent
