#include "plugin/lucene/index/commit_point.h"

#include <SegmentInfo.h>
#include <fmt/core.h>

#include <charconv>

#include "base/file/file_io.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/errors.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

const std::string kRecordPrefix = "relucent.";
const std::string kDeletions = kRecordPrefix + "deletions";  // file, size, checksum

std::string damage_of(const fs::path& file, const segment::FileSum& expected, FileCheck check) {
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(file, error));
  if (error && error != std::errc::no_such_file_or_directory) {
    throw_io_error(file, "reading its size", error.value());
  }
  if (error) return fmt::format("{}: {}", file.string(), error.message());
  if (size != expected.size) {
    return fmt::format("{}: has {} bytes, not {}", file.string(), size, expected.size);
  }
  if (check == FileCheck::checksum && checksum_of_file(file) != expected.checksum) {
    return file.string() + ": does not match its recorded checksum";
  }
  return {};
}

/// What is wrong with a commit's files; empty if nothing is.
std::string damage_of(const fs::path& folder, const CommitPoint& commit, const Lucene::DirectoryPtr& directory,
                      FileCheck check) {
  for (const segment::Segment& segment : commit.segments) {
    for (const auto& [extension, expected] : segment.files) {
      std::string damage = damage_of(segment::file_of(folder, segment.name, extension.c_str()), expected, check);
      if (!damage.empty()) return damage;
    }
  }
  for (std::int32_t i = 0; i < commit.infos->size(); ++i) {
    const auto deletions = recorded_deletions(commit.infos->info(i));
    if (!deletions) continue;
    std::string damage = damage_of(folder / deletions->file, deletions->sum, check);
    if (!damage.empty()) return damage;
  }
  for (const std::string& file : files_of(commit, directory)) {
    std::error_code error;
    if (fs::exists(folder / file, error)) continue;
    if (error) throw_io_error(folder / file, "looking it up", error.value());
    return (folder / file).string() + ": is missing";
  }
  return {};
}

CommitPoint read_commit(const fs::path& folder, const std::string& file, const Lucene::DirectoryPtr& directory) {
  // Lucene++ crashes on damaged files, so they are checked here first.
  CommitPoint commit{file, Lucene::newLucene<Lucene::SegmentInfos>(), {}, check::read_segments_list(folder / file)};
  commit.infos->read(directory, to_lucene(file));
  for (std::int32_t i = 0; i < commit.infos->size(); ++i)
    commit.segments.push_back(recorded_segment(commit.infos->info(i)));
  return commit;
}

std::string to_text(const segment::FileSum& sum) { return fmt::format("{} {}", sum.size, to_hex(sum.checksum)); }

std::optional<segment::FileSum> sum_from(std::string_view text, const std::string& segment) {
  segment::FileSum sum;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum.size);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  sum.checksum = from_hex(text.substr(static_cast<std::size_t>(end - text.data()) + 1), segment);
  return sum;
}

/// A file's size and checksum as record_files() wrote them.
std::optional<segment::FileSum> recorded_sum(Lucene::MapStringString records, const char* extension,
                                             const std::string& segment) {
  const auto record = records.find(to_lucene(kRecordPrefix + extension));
  return record == records.end() ? std::nullopt : sum_from(to_utf8(record->second), segment);
}

}  // namespace

std::optional<WholeCommit> find_whole_commit(const fs::path& folder, const Lucene::DirectoryPtr& directory,
                                             FileCheck check) {
  WholeCommit found;
  for (const std::string& file : segments_files(folder)) {
    std::string damage = (folder / file).string() + ": the list of segments is damaged";
    try {
      found.commit = read_commit(folder, file, directory);
      damage = damage_of(folder, found.commit, directory, check);
    } catch (const Lucene::LuceneException& exception) {
      // Either the system refused, or Lucene++ does not know the list's format.
      if (!remedy_in(to_utf8(exception.getError())).empty()) throw;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      damage = fmt::format("{}: {}", error.place(), error.problem());
    }
    if (damage.empty()) return found;
    if (found.damage.empty()) found.damage = damage;
    found.damaged.push_back(file);
  }
  if (found.damage.empty()) return std::nullopt;
  const std::size_t end_of_place = found.damage.rfind(": ");
  throw Error(ErrorKind::invalid_data, found.damage.substr(0, end_of_place), found.damage.substr(end_of_place + 2),
              "restore the index from a copy, or rebuild it with the program that wrote it: the disk or another "
              "program damaged it");
}

std::vector<std::string> files_of(const CommitPoint& commit, const Lucene::DirectoryPtr& directory) {
  std::vector<std::string> names;
  for (const Lucene::String& file : commit.infos->files(directory, false)) names.push_back(to_utf8(file));
  for (std::int32_t i = 0; i < commit.infos->size(); ++i) {
    const segment::Segment segment = recorded_segment(commit.infos->info(i));
    if (segment.files.contains(segment::kBlockSums))
      names.push_back(fmt::format("{}.{}", segment.name, segment::kBlockSums));
  }
  return names;
}

std::string identity_of(const std::vector<segment::Segment>& segments) {
  std::string identity;
  for (const segment::Segment& segment : segments) {
    identity += fmt::format("{}:{} ", segment.name, segment.documents);
  }
  return identity;
}

void record_files(const segment::Segment& segment, const Lucene::SegmentInfoPtr& info) {
  auto records = Lucene::MapStringString::newInstance();
  records.put(L"source", L"relucent");
  for (const auto& [extension, sum] : segment.files) {
    records.put(to_lucene(kRecordPrefix + extension), to_lucene(to_text(sum)));
  }
  info->setDiagnostics(records);
}

void record_deletions(const segment::FileSum& sum, const Lucene::SegmentInfoPtr& info) {
  auto records = Lucene::MapStringString::newInstance();
  for (const auto& [key, value] : info->getDiagnostics()) records.put(key, value);
  records.put(to_lucene(kDeletions), to_lucene(fmt::format("{} {}", to_utf8(info->getDelFileName()), to_text(sum))));
  info->setDiagnostics(records);
}

std::optional<RecordedDeletions> recorded_deletions(const Lucene::SegmentInfoPtr& info) {
  auto records = info->getDiagnostics();
  if (!records || !info->hasDeletions()) return std::nullopt;
  const auto record = records.find(to_lucene(kDeletions));
  if (record == records.end()) return std::nullopt;
  const std::string text = to_utf8(record->second), file = to_utf8(info->getDelFileName());
  if (!text.starts_with(file + " ")) return std::nullopt;  // another program has deleted more since
  const auto sum = sum_from(std::string_view(text).substr(file.size() + 1), file);
  return sum ? std::optional(RecordedDeletions{file, *sum}) : std::nullopt;
}

segment::Segment recorded_segment(const Lucene::SegmentInfoPtr& info) {
  segment::Segment segment;
  segment.name = to_utf8(info->name);
  segment.documents = info->docCount;
  auto records = info->getDiagnostics();
  if (!records || info->hasSeparateNorms() || info->getUseCompoundFile()) return segment;
  for (const char* extension : segment::kExtensions) {
    const auto sum = recorded_sum(records, extension, segment.name);
    if (!sum) {
      segment.files.clear();
      return segment;
    }
    segment.files[extension] = *sum;
  }
  const auto sums = recorded_sum(records, segment::kBlockSums, segment.name);
  if (sums) segment.files[segment::kBlockSums] = *sums;
  return segment;
}

}  // namespace relucent
