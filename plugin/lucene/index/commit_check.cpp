#include "plugin/lucene/index/commit_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file/file_io.h"
#include "plugin/index_format/check/checked_files.h"
#include "plugin/index_format/check/segment_check.h"
#include "plugin/index_format/check/structure_notes.h"
#include "relucent/error.h"

namespace relucent::check {
namespace {

namespace fs = std::filesystem;
using segment::FileSum;
using segment::FileSums;
using segment::sum_of_file;

constexpr const char* kRemedy = "restore it from a copy or rebuild the index: the disk or another program damaged it";

[[noreturn]] void other_bytes(const fs::path& file) {
  throw Error(ErrorKind::invalid_data, file.string(), "does not match its recorded checksum", kRemedy);
}

bool has_recorded_sums(const segment::Segment& segment) { return segment.files.contains(segment::kBlockSums); }

/// Checks a segment's structure unless this machine has done so.
void check_once(const fs::path& folder, const SegmentEntry& entry, StructureNotes& notes) {
  const StructureNotes::Files files = notes.files(names_of_files(folder, entry));
  if (!notes.has(files)) check_segment(folder, entry);
  notes.add(files);
}

/// Segments written by another program or by an earlier version of Relucent.
class ForeignSegments {
 public:
  ForeignSegments(const fs::path& folder, const CommitPoint& commit, StructureNotes& notes)
      : folder_(folder), notes_(notes) {
    FileSums needed;
    for (std::size_t i = 0; i < commit.segments.size(); ++i) {
      if (has_recorded_sums(commit.segments[i])) continue;
      entries_.push_back(commit.entries[i]);
      for (const std::string& name : names_of_files(folder, commit.entries[i])) {
        std::error_code missing;
        const std::uintmax_t size = fs::file_size(folder / name, missing);
        needed[name].size = missing ? 0 : static_cast<std::int64_t>(size);
      }
    }
    if (!entries_.empty()) remembered_ = read_checked_files(folder, needed);
    now_.commit = fmt::format("{} {}", commit.file, to_hex(checksum_of_file(folder / commit.file)));
  }

  bool same_commit() const { return remembered_ && remembered_->commit == now_.commit; }

  FileSums check(IndexCheck how) {
    for (const SegmentEntry& entry : entries_) {
      // Checksums can be forged together with the files, so they prove nothing about the structure.
      if (is_known(entry, how)) check_generations(folder_, entry);
      check_once(folder_, entry, notes_);
      for (const std::string& name : names_of_files(folder_, entry)) {
        if (!now_.sums.contains(name)) remember(name, sum_of_file(folder_ / name));
      }
    }
    // A file that changes within a commit is damaged or was replaced on purpose. The old state stays on record, so that
    // `relucent verify` can report it.
    const bool news = same_commit() ? added_ && !differs_ : !entries_.empty();
    if (news) write_checked_files(folder_, now_);
    return std::move(now_.sums);
  }

  /// Files that differ from what they were when the same commit was first opened.
  std::vector<std::string> find_changes() const {
    std::vector<std::string> damage;
    if (!same_commit()) return damage;
    for (const SegmentEntry& entry : entries_) {
      for (const std::string& name : names_of_files(folder_, entry)) {
        const auto before = remembered_->sums.find(name);
        if (before != remembered_->sums.end() && !(before->second == sum_of_file(folder_ / name))) {
          damage.push_back(
              fmt::format("{}: has changed since the index was first opened (remove {} if the change is intended)",
                          name, CheckedFiles::kFileName));
        }
      }
    }
    return damage;
  }

 private:
  /// Whether no file of a segment has changed since it was checked; adds the unchanged ones to now_.
  bool is_known(const SegmentEntry& entry, IndexCheck how) {
    bool known = true;
    for (const std::string& name : names_of_files(folder_, entry)) {
      if (!is_unchanged(name, how) && !belongs_to_generation(name)) known = false;
    }
    return known;
  }

  bool is_unchanged(const std::string& name, IndexCheck how) {
    if (now_.sums.contains(name)) return true;
    if (!remembered_) return false;
    const auto sum = remembered_->sums.find(name);
    if (sum == remembered_->sums.end()) return false;
    const FileState state = file_state(folder_ / name), &before = remembered_->states.at(name);
    const bool differed = std::exchange(differs_, true);
    if (state.size != before.size || state.sample != before.sample) return false;
    // With another timestamp it may be a copy or a different file.
    if (how == IndexCheck::checksums || state.modified != before.modified) {
      if (!(sum_of_file(folder_ / name) == sum->second)) return false;
      added_ = added_ || state.modified != before.modified;
    }
    differs_ = differed;
    now_.sums[name] = sum->second;
    now_.states[name] = state;
    return true;
  }

  void remember(const std::string& name, FileSum sum) {
    now_.states[name] = file_state(folder_ / name);
    now_.sums[name] = std::move(sum);
    added_ = true;
  }

  const fs::path& folder_;
  StructureNotes& notes_;
  std::vector<SegmentEntry> entries_;
  std::optional<CheckedFiles> remembered_;
  CheckedFiles now_;
  bool added_ = false;    ///< now_ has more than remembered_
  bool differs_ = false;  ///< a remembered file has changed
};

}  // namespace

FileSums recorded_sums(const fs::path& folder, const segment::Segment& segment) {
  const auto recorded = segment.files.find(segment::kBlockSums);
  if (recorded == segment.files.end()) return {};
  const fs::path path = segment::file_of(folder, segment.name, segment::kBlockSums);
  FileSums files = segment.files;
  files.erase(segment::kBlockSums);
  const std::size_t length = segment::length_of_bytes(files);
  if (recorded->second.size != static_cast<std::int64_t>(length)) {
    throw Error(ErrorKind::invalid_data, path.string(),
                fmt::format("is recorded with {} bytes, but the checksums of its segment have {}",
                            recorded->second.size, length),
                kRemedy);
  }
  const std::string bytes = read_file(path, length);
  if (checksum(bytes) != recorded->second.checksum) other_bytes(path);
  FileSums sums;
  for (auto& [extension, sum] : segment::sums_from_bytes(bytes, path.string())) {
    const auto same = segment.files.find(extension);
    if (same == segment.files.end() || !(same->second == sum)) other_bytes(path);
    sums[fmt::format("{}.{}", segment.name, extension)] = std::move(sum);
  }
  return sums;
}

FileSums checked_sums(const fs::path& folder, const CommitPoint& commit, IndexCheck how) {
  StructureNotes notes(folder);
  FileSums sums = ForeignSegments(folder, commit, notes).check(how);
  for (std::size_t i = 0; i < commit.segments.size(); ++i) {
    if (!has_recorded_sums(commit.segments[i])) continue;
    for (auto& [name, sum] : recorded_sums(folder, commit.segments[i])) {
      if (how == IndexCheck::checksums && !(sum_of_file(folder / name) == sum)) other_bytes(folder / name);
      sums[name] = std::move(sum);
    }
    if (const auto deletions = recorded_deletions(commit.infos->info(static_cast<std::int32_t>(i)))) {
      FileSum sum = sum_of_file(folder / deletions->file);  // small: a bit per document
      if (!(sum == deletions->sum)) other_bytes(folder / deletions->file);
      sums[deletions->file] = std::move(sum);
    }
    check_once(folder, commit.entries[i], notes);
  }
  notes.keep();
  return sums;
}

void check_structure(const fs::path& folder, const std::vector<SegmentEntry>& segments) {
  StructureNotes notes(folder);
  for (const SegmentEntry& entry : segments) check_once(folder, entry, notes);
  notes.keep();
}

void note_structure(const fs::path& folder, const std::vector<std::string>& files) {
  StructureNotes notes(folder);
  notes.add(notes.files(files));
  notes.keep();
}

std::vector<std::string> find_damage(const fs::path& folder, const CommitPoint& commit) {
  StructureNotes notes(folder);
  std::vector<std::string> damage;
  for (const SegmentEntry& entry : commit.entries) {
    const StructureNotes::Files files = notes.files(names_of_files(folder, entry));
    try {
      check_segment(folder, entry);
      notes.add(files);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_data) throw;
      damage.push_back(fmt::format("{}: {}", fs::path(error.place()).filename().string(), error.problem()));
    }
  }
  const std::vector<std::string> changes = ForeignSegments(folder, commit, notes).find_changes();
  damage.insert(damage.end(), changes.begin(), changes.end());
  notes.keep();
  return damage;
}

}  // namespace relucent::check
