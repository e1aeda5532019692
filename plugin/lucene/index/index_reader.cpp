#include "relucent/index_reader.h"

#include <ReadOnlyDirectoryReader.h>
#include <SegmentInfo.h>
#include <SegmentInfos.h>
#include <SegmentReader.h>
#include <fmt/core.h>

#include <algorithm>

#include "plugin/index_format/check/file_state.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/errors.h"
#include "plugin/lucene/index/checked_directory.h"
#include "plugin/lucene/index/commit_check.h"
#include "plugin/lucene/index/commit_data.h"
#include "plugin/lucene/index/commit_point.h"
#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/index/file_directory.h"
#include "plugin/lucene/index/open_index.h"
#include "plugin/lucene/index/sidecar.h"
#include "relucent/index_files.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Calls use(directory, commit) with the newest intact commit.
template <typename Use>
auto with_commit(const std::filesystem::path& folder, const char* operation, Use&& use) {
  const std::string place = folder.string();
  to_lucene_folder(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::io, place,
                error && error != std::errc::no_such_file_or_directory
                    ? "the index directory cannot be read: " + error.message()
                    : "the index directory does not exist",
                "check the path, or build an index with `relucent index`");
  }
  // An active writer may remove a commit's files before they are read; then there is a newer commit.
  for (int attempt = 0;; ++attempt) {
    const auto before = segments_files(folder);
    try {
      return with_errors(place, operation, [&] {
        const auto directory = Lucene::newLucene<FileDirectory>(folder);
        const auto found = find_whole_commit(folder, directory, FileCheck::size);
        if (!found) {
          throw Error(ErrorKind::invalid_data, place, "the directory holds no index",
                      "check the path, or build an index with `relucent index`");
        }
        return use(directory, *found);
      });
    } catch (const Error&) {
      constexpr int attempts = 10;
      if (attempt == attempts || segments_files(folder) == before) throw;
    }
  }
}

/// The readers of segments that the commit has unchanged.
Lucene::Collection<Lucene::SegmentReaderPtr> unchanged_segments(const Lucene::IndexReaderPtr& reader,
                                                                const CommitPoint& commit) {
  auto unchanged = Lucene::Collection<Lucene::SegmentReaderPtr>::newInstance();
  for (const auto& leaf : bm25::leaf_readers(reader)) {
    const auto open = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    if (!open) continue;
    const segment::Segment before = recorded_segment(open->getSegmentInfo());
    const bool same = !before.files.empty() && std::ranges::any_of(commit.segments, [&](const segment::Segment& now) {
      return now.name == before.name && now.documents == before.documents && now.files == before.files;
    });
    if (same) unchanged.add(open);
  }
  return unchanged;
}

}  // namespace

OpenedIndex open_index(const std::filesystem::path& folder, IndexCheck check, const OpenedIndex& before) {
  return with_commit(folder, "opening the index", [&](const auto& plain, const WholeCommit& found) {
    OpenedIndex opened{{}, check, found.commit.file, found.commit.infos->getVersion(), found.damage};
    const bool same_check = before.reader && before.check == check;
    if (same_check && opened.commit == before.commit && opened.version == before.version) {
      opened.reader = before.reader;
      return opened;
    }
    Lucene::DirectoryPtr directory = plain;
    if (check != IndexCheck::none) {
      directory = Lucene::newLucene<CheckedDirectory>(folder, check::checked_sums(folder, found.commit, check));
      for (std::int32_t i = 0; i < found.commit.infos->size(); ++i) found.commit.infos->info(i)->dir = directory;
    }
    if (same_check) {
      opened.reader = Lucene::newLucene<Lucene::ReadOnlyDirectoryReader>(
          directory, found.commit.infos, unchanged_segments(before.reader, found.commit),
          Lucene::Collection<std::int32_t>(), Lucene::MapStringByteArray(), false,
          Lucene::IndexReader::DEFAULT_TERMS_INDEX_DIVISOR);
    } else {
      opened.reader = Lucene::newLucene<Lucene::ReadOnlyDirectoryReader>(
          directory, found.commit.infos, Lucene::IndexDeletionPolicyPtr(),
          Lucene::IndexReader::DEFAULT_TERMS_INDEX_DIVISOR);
    }
    return opened;
  });
}

std::string commits_state(const std::filesystem::path& folder) {
  std::string state;
  for (const std::string& file : segments_files(folder)) {
    try {
      state += fmt::format("{} {}\n", file, to_string(file_state(folder / file)));
    } catch (const Error&) {
      // A writer may have removed it since; then there is a newer commit.
      if (std::filesystem::exists(folder / file)) throw;
      state += file + " was removed\n";
    }
  }
  return state;
}

Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder, IndexCheck check) {
  return open_index(folder, check).reader;
}

std::vector<std::string> find_damage(const std::filesystem::path& folder) {
  return with_commit(folder, "checking the index",
                     [&](const auto&, const WholeCommit& found) { return check::find_damage(folder, found.commit); });
}

std::vector<LengthsFile> check_lengths(const std::filesystem::path& folder) {
  const Lucene::IndexReaderPtr reader = open_reader(folder);
  return with_errors(folder.string(), "counting the lengths", [&] {
    auto files = bm25::check_sidecars(folder, bm25::leaf_readers(reader));
    reader->close();
    return files;
  });
}

IndexFiles index_files(const std::filesystem::path& folder) {
  return with_commit(folder, "reading the list of segments", [](const auto& directory, const WholeCommit& found) {
    IndexFiles files;
    files.commit = found.commit.file;
    files.damage = found.damage;
    for (const segment::Segment& segment : found.commit.segments) {
      files.documents += segment.documents;
      for (const auto& [extension, sum] : segment.files) {
        files.recorded.push_back({fmt::format("{}.{}", segment.name, extension), sum.size, sum.checksum});
      }
    }
    for (std::int32_t i = 0; i < found.commit.infos->size(); ++i) {
      const Lucene::SegmentInfoPtr info = found.commit.infos->info(i);
      files.deleted += std::max(info->getDelCount(), 0);
      if (const auto deletions = recorded_deletions(info)) {
        files.recorded.push_back({deletions->file, deletions->sum.size, deletions->sum.checksum});
      }
    }
    files.names = files_of(found.commit, directory);
    files.names.push_back(found.commit.file);
    Lucene::MapStringString user_data = found.commit.infos->getUserData();
    if (const auto data = from_user_data(user_data, found.commit.file)) {
      files.only_of_builder = data->segments == identity_of(found.commit.segments);
      files.user_data = data->user;
      files.fields = data->fields;
      files.analyzer = data->analyzer;
      files.token_ids = data->tokenizer != 0;
    } else if (user_data) {
      for (const auto& [key, value] : user_data) files.user_data[to_utf8(key)] = to_utf8(value);
    }
    return files;
  });
}

Config config_of_index(const Lucene::IndexReaderPtr& reader, const Config& config) {
  const std::string place = [&] {
    try {
      return folder_of(reader->directory()).string();
    } catch (const Lucene::LuceneException&) {
      return std::string("index");  // a reader of several indexes has no directory
    }
  }();
  const auto recorded = recorded_analyzer(reader, place);
  const AnalyzerKind named = analyzer_of(config.index, config.first_stage);
  const bool asked_for = config.index.language || named != FirstStageConfig().analyzer;
  if (recorded && asked_for && named != *recorded) throw other_analyzer(place, *recorded, named);
  Config own = config;
  own.first_stage.analyzer = recorded.value_or(named);
  const auto data = commit_data_of(reader, place);
  own.index.keyword_fields = data ? data->fields.keyword_fields : std::vector<std::string>();
  own.index.number_fields = data ? data->fields.number_fields : std::vector<std::string>();
  own.index.analyzed_fields = data ? data->fields.analyzed_fields : std::vector<std::string>();
  return own;
}

}  // namespace relucent
