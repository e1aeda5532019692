#include "relucent/index_reader.h"

#include <FSDirectory.h>
#include <ReadOnlyDirectoryReader.h>

#include "index/commit_point.h"
#include "index/segments_file.h"
#include "lucene_errors.h"
#include "relucent/index_files.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

/// Calls use(directory, commit) with the newest whole commit.
template <typename Use>
auto with_commit(const std::filesystem::path& folder, const char* doing, Use&& use) {
  prepare_file_names();
  const std::string place = folder.string();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorKind::io, place, error && error != std::errc::no_such_file_or_directory
                                          ? "the index folder cannot be read: " + error.message()
                                          : "there is no such index folder",
                "check the name, or make an index with `relucent index`");
  }
  // A writer at work may remove a commit's files between looking and reading; then there is a newer commit.
  for (int attempt = 0;; ++attempt) {
    const auto before = segments_files(folder);
    try {
      return with_errors(place, doing, [&] {
        const auto directory = Lucene::FSDirectory::open(to_lucene(place));
        const auto found = find_whole_commit(folder, directory, FileCheck::size);
        if (!found) {
          throw Error(ErrorKind::invalid_data, place, "the folder holds no index",
                      "check the name, or make an index with `relucent index`");
        }
        return use(directory, *found);
      });
    } catch (const Error&) {
      constexpr int kAttempts = 10;
      if (attempt == kAttempts || segments_files(folder) == before) throw;
    }
  }
}

}  // namespace

Lucene::IndexReaderPtr open_reader(const std::filesystem::path& folder) {
  return with_commit(folder, "opening the index",
                     [](const Lucene::FSDirectoryPtr& directory, const WholeCommit& found) -> Lucene::IndexReaderPtr {
                       if (found.damaged.empty()) return Lucene::IndexReader::open(directory, true);
                       return Lucene::newLucene<Lucene::ReadOnlyDirectoryReader>(
                           directory, found.commit.infos, Lucene::IndexDeletionPolicyPtr(),
                           Lucene::IndexReader::DEFAULT_TERMS_INDEX_DIVISOR);
                     });
}

IndexFiles index_files(const std::filesystem::path& folder) {
  return with_commit(folder, "reading the list of segments", [](const auto&, const WholeCommit& found) {
    IndexFiles files{found.commit.file, 0, {}, found.damage};
    for (const segment::Segment& segment : found.commit.segments) {
      files.documents += segment.documents;
      for (const auto& [extension, sum] : segment.files) {
        files.recorded.push_back({segment.name + "." + extension, sum.size, sum.checksum});
      }
    }
    return files;
  });
}

}  // namespace relucent
