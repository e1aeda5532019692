#pragma once

#include <Lucene.h>

#include <IndexReader.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "relucent/index_check.h"

namespace relucent {

/// A reader of one commit of an index folder.
struct OpenedIndex {
  Lucene::IndexReaderPtr reader;
  IndexCheck check = IndexCheck::structure;
  std::string commit;        ///< segments_N
  std::int64_t version = 0;  ///< Lucene's number of the commit, which no other one of the index has
  std::string damage;        ///< why newer commits were skipped; empty if there are none
};

/// What open_reader() does. Takes over `before`'s readers of segments that are the same files by their recorded
/// checksums, with what they have in memory, and reads their deletions; other programs' segments it opens all again.
/// Both readers can be used and closed independently of each other.
/// @param before  an earlier opening of the same folder, or an empty one; returned as it is if there is no newer commit
OpenedIndex open_index(const std::filesystem::path& folder, IndexCheck check, const OpenedIndex& before = {});

/// Changes with every commit: the names of the folder's segments_N files and the states of their contents. Throws Error
/// `io`.
std::string commits_state(const std::filesystem::path& folder);

}  // namespace relucent
