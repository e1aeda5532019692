#pragma once

#include <LuceneHeaders.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/checksum.h"
#include "plugin/index_format/check/checked_files.h"
#include "plugin/index_format/check/file_state.h"
#include "plugin/index_format/segment/block_sums.h"
#include "plugin/index_format/segment/segment.h"
#include "plugin/index_format/segments_file.h"
#include "plugin/lucene/index/commit_point.h"
#include "relucent/stored_text.h"

namespace relucent::testing {

/// What somebody who knows the formats does after a change: every recorded checksum is made that of the file as it is.
/// `changed` may list the names of all files that were changed; the sums of others are then left as they are.
inline void recompute_checksums(const std::filesystem::path& index,
                                const std::optional<std::set<std::string>>& changed = {}) {
  const auto directory = Lucene::FSDirectory::open(to_lucene(index.string()));
  const auto infos = Lucene::newLucene<Lucene::SegmentInfos>();
  infos->read(directory);
  for (std::int32_t i = 0; i < infos->size(); ++i) {
    segment::Segment segment = recorded_segment(infos->info(i));
    if (segment.files.empty()) continue;
    segment.files.erase(segment::kBlockSums);
    const auto is_changed = [&](const auto& file) {
      return !changed || changed->contains(segment::file_of(index, segment.name, file.first.c_str()).filename());
    };
    const auto deletions = recorded_deletions(infos->info(i));
    if (std::ranges::any_of(segment.files, is_changed)) {
      for (auto& [extension, sum] : segment.files) {
        sum = segment::sum_of_file(segment::file_of(index, segment.name, extension.c_str()));
      }
      const auto sums =
          segment::write_block_sums(segment::file_of(index, segment.name, segment::kBlockSums), segment.files);
      segment.files[segment::kBlockSums] = sums;
      record_files(segment, infos->info(i));
    }
    if (deletions) record_deletions(segment::sum_of_file(index / deletions->file), infos->info(i));
  }
  infos->commit(directory);
  if (auto checked = check::read_checked_files(index, {})) {
    for (auto& [name, sum] : checked->sums) {
      sum = segment::sum_of_file(index / name);
      checked->states[name] = file_state(index / name);
    }
    const std::string commit = segments_files(index).front();
    checked->commit = commit + ' ' + to_hex(checksum_of_file(index / commit));
    check::write_checked_files(index, *checked);
  }
}

}  // namespace relucent::testing
