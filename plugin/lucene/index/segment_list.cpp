#include "plugin/lucene/index/segment_list.h"

#include <BufferedIndexInput.h>
#include <NoLockFactory.h>
#include <SegmentInfo.h>
#include <SegmentReader.h>
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/file/file_io.h"
#include "base/file/folder_entries.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/index/checked_directory.h"
#include "plugin/lucene/index/commit_check.h"
#include "plugin/lucene/index/file_directory.h"
#include "plugin/lucene/index/write_lock.h"
#include "relucent/error.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = "write.lock";
constexpr std::size_t kCommitsKept = 2;

/// Starts writing to disk, so that the disk works on all files before the caller waits for the first.
void start_writing(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) ::sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

/// Whether Lucene would name a segment's file like this: "_", a number in base 36, perhaps another number, and the
/// extension.
bool is_segment_file(const fs::path& file) {
  static const std::set<std::string> extensions = {".cfs", ".cfx", ".del", ".fdt", ".fdx", ".fnm", ".frq", ".nrm",
                                                   ".prx", ".sum", ".tii", ".tis", ".tvd", ".tvf", ".tvx"};
  const std::string stem = file.stem().string();
  return stem.size() > 1 && stem[0] == '_' && extensions.contains(file.extension().string()) &&
         stem.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
}

/// What Lucene++ reads about one of our segments.
Lucene::SegmentInfoPtr new_info(const segment::Segment& segment, const Lucene::DirectoryPtr& directory) {
  constexpr bool compound = false, one_file_of_norms = true, positions = true;
  constexpr std::int32_t own_stored_fields = -1;
  auto info = Lucene::newLucene<Lucene::SegmentInfo>(to_lucene(segment.name), segment.documents, directory, compound,
                                                     one_file_of_norms, own_stored_fields, Lucene::String(), compound,
                                                     positions);
  record_files(segment, info);
  return info;
}

}  // namespace

SegmentList::SegmentList(const fs::path& folder, Start start)
    : folder_(folder),
      directory_(Lucene::newLucene<FileDirectory>(folder, Lucene::NoLockFactory::getNoLockFactory())),
      infos_(Lucene::newLucene<Lucene::SegmentInfos>()) {
  const bool left_over = fs::exists(folder_ / kLockFile);
  lock();
  if (start == Start::last_commit) {
    const auto found = find_whole_commit(folder_, directory_, left_over ? FileCheck::checksum : FileCheck::size);
    if (!found) throw Error(ErrorKind::invalid_data, folder_.string(), "the directory holds no index");
    for (const std::string& file : found->damaged) fs::remove(folder_ / file);
    if (!found->damaged.empty()) fs::remove(folder_ / "segments.gen");  // it refers to one of them
    dropped_ = found->damage;
    check::check_structure(folder_, found->commit.entries);
    take(found->commit);
    remove_unneeded_files();
    return;
  }
  replaces_ = true;
  try {
    if (const auto found = find_whole_commit(folder_, directory_, FileCheck::size)) {
      take(found->commit);  // for the numbers of the next segment and commit
      infos_->clear();
      segments_.clear();
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_data) throw;  // too many open files, for example: the index may be sound
    for (const std::string& file : segments_files(folder_)) fs::remove(folder_ / file);
    fs::remove(folder_ / "segments.gen");
  }
  remove_unneeded_files();
}

SegmentList::~SegmentList() {
  if (lock_) lock_->release();
}

void SegmentList::lock() {
  lock_ = Lucene::newLucene<WriteLockFactory>(folder_)->makeLock(to_lucene(kLockFile));
  lock_->obtain();
}

void SegmentList::take(const CommitPoint& commit) {
  std::vector<segment::Segment> segments = commit.segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Lucene::SegmentInfoPtr info = commit.infos->info(static_cast<std::int32_t>(i));
    if (segments[i].files.empty() || !info->hasDeletions()) continue;
    segments[i].deletions = std::make_shared<const segment::Deletions>(
        segment::Deletions::read(folder_ / to_utf8(info->getDelFileName()), info->docCount));
  }
  infos_ = commit.infos;  // only now: an index that is replaced may have damaged deletions, and nothing of it stays
  segments_ = std::move(segments);
  commits_.clear();
  remember(commit.file);
}

void SegmentList::remember(const std::string& file) {
  Commit commit{file, {}, {}};
  for (const std::string& name : files_of({file, infos_, {}, {}}, directory_)) commit.files.insert(name);
  for (const segment::Segment& segment : segments_) commit.segments.insert(segment.name);
  synced_ = commit.files;
  commits_.push_back(std::move(commit));
}

std::int32_t SegmentList::documents() const {
  std::int32_t documents = 0;
  for (const segment::Segment& segment : segments_) documents += segment.documents;
  return documents;
}

std::int32_t SegmentList::deleted() const {
  std::int32_t deleted = 0;
  for (std::int32_t i = 0; i < infos_->size(); ++i) deleted += std::max(infos_->info(i)->getDelCount(), 0);
  return deleted;
}

Lucene::MapStringString SegmentList::user_data() const { return infos_->getUserData(); }

std::string SegmentList::identity() const { return identity_of(segments_); }

std::int64_t SegmentList::next_number() const { return infos_->counter; }

void SegmentList::set_segments(const std::vector<segment::Segment>& segments, std::int64_t next_number) {
  std::map<std::string, Lucene::SegmentInfoPtr> before;
  for (std::int32_t i = 0; i < infos_->size(); ++i) before[to_utf8(infos_->info(i)->name)] = infos_->info(i);
  std::map<std::string, std::shared_ptr<const segment::Deletions>> written;
  for (const segment::Segment& segment : segments_) written[segment.name] = segment.deletions;
  infos_->clear();
  for (const segment::Segment& segment : segments) {
    Lucene::SegmentInfoPtr& info = before[segment.name];
    if (!info) info = new_info(segment, directory_);
    if (segment.deletions != written[segment.name]) write_deletions(segment, info);
    infos_->add(info);
  }
  infos_->counter = static_cast<std::int32_t>(next_number);
  segments_ = segments;
}

/// Under a new name, so that earlier commits and open readers keep theirs.
void SegmentList::write_deletions(const segment::Segment& segment, const Lucene::SegmentInfoPtr& info) const {
  info->advanceDelGen();
  info->setDelCount(segment.deletions->count());
  record_deletions(segment.deletions->write(folder_ / to_utf8(info->getDelFileName())), info);
}

Lucene::IndexReaderPtr SegmentList::open_terms(const segment::Segment& segment) const {
  segment::Segment without_deletions = segment;
  without_deletions.deletions.reset();
  const Lucene::SegmentInfoPtr info = new_info(without_deletions, directory_);
  const auto checked = Lucene::newLucene<CheckedDirectory>(folder_, check::recorded_sums(folder_, segment));
  constexpr bool read_only = true, stored_fields = false;
  return Lucene::SegmentReader::get(read_only, checked, info, Lucene::BufferedIndexInput::BUFFER_SIZE, stored_fields,
                                    Lucene::IndexReader::DEFAULT_TERMS_INDEX_DIVISOR);
}

void SegmentList::commit(const Lucene::MapStringString& user_data) {
  std::vector<fs::path> unsynced;
  for (const std::string& file : files_of({{}, infos_, {}, {}}, directory_)) {
    if (!synced_.contains(file)) unsynced.push_back(folder_ / file);
  }
  std::ranges::for_each(unsynced, start_writing);
  std::ranges::for_each(unsynced, sync_file);
  sync_directory(folder_);
  infos_->setUserData(user_data);
  infos_->commit(directory_);
  const std::string file = to_utf8(infos_->getCurrentSegmentFileName());
  sync_file(folder_ / file);
  sync_directory(folder_);
  remember(file);
  std::vector<std::string> written;
  for (const Lucene::String& name : infos_->files(directory_, false)) written.push_back(to_utf8(name));
  check::note_structure(folder_, written);
  drop_commits(replaces_ ? 1 : kCommitsKept);
  replaces_ = false;
}

std::set<std::string> SegmentList::kept_segments() const {
  std::set<std::string> names;
  for (const Commit& commit : commits_) names.insert(commit.segments.begin(), commit.segments.end());
  return names;
}

void SegmentList::drop_commits(std::size_t keep) {
  while (commits_.size() > keep) {
    const Commit dropped = std::move(commits_.front());
    commits_.pop_front();
    fs::remove(folder_ / dropped.file);
    for (const std::string& file : dropped.files) {
      const auto has_it = [&](const Commit& commit) { return commit.files.contains(file); };
      if (std::none_of(commits_.begin(), commits_.end(), has_it)) fs::remove(folder_ / file);
    }
  }
}

void SegmentList::remove_unneeded_files() const {
  std::set<std::string> needed;
  for (const Commit& commit : commits_) {
    needed.insert(commit.file);
    needed.insert(commit.files.begin(), commit.files.end());
  }
  std::vector<fs::path> unneeded;
  for (const auto& [name, is_folder] : entries_of(folder_)) {
    if ((is_segment_file(name) || name.starts_with("segments_")) && !needed.contains(name))
      unneeded.push_back(folder_ / name);
  }
  for (const fs::path& file : unneeded) fs::remove(file);
}

void SegmentList::read_again() {
  const auto found = find_whole_commit(folder_, directory_, FileCheck::size);
  if (!found) throw Error(ErrorKind::invalid_data, folder_.string(), "the directory no longer holds an index");
  take(found->commit);
}

Lucene::DocumentPtr SegmentList::read_last_document() const {
  if (infos_->size() == 0) return {};
  constexpr std::int32_t no_term_index = -1;
  const Lucene::SegmentInfoPtr info = infos_->info(infos_->size() - 1);
  const auto checked =
      Lucene::newLucene<CheckedDirectory>(folder_, check::recorded_sums(folder_, recorded_segment(info)));
  const auto segment =
      Lucene::SegmentReader::get(true, checked, info, Lucene::BufferedIndexInput::BUFFER_SIZE, true, no_term_index);
  const auto document = segment->document(segment->maxDoc() - 1, Lucene::FieldSelectorPtr());
  segment->close();
  return document;
}

void SegmentList::close() {
  drop_commits(1);
  sync_directory(folder_);
  if (lock_) lock_->release();
  lock_.reset();
}

}  // namespace relucent
