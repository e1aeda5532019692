#include "plugin/lucene/index/segment_identities.h"

#include <SegmentInfo.h>
#include <SegmentReader.h>
#include <fmt/core.h>

#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "base/checksum.h"
#include "plugin/index_format/check/file_state.h"
#include "plugin/lucene/index/field_lengths.h"
#include "plugin/lucene/index/file_directory.h"
#include "relucent/stored_text.h"

namespace relucent {
namespace {

namespace fs = std::filesystem;

/// Identity of the files with stored fields, or the compound ones around them. Times are left out: a copy has others.
std::uint64_t contents_of(const fs::path& folder, const Lucene::SegmentInfoPtr& info) {
  std::set<std::string> names;
  for (const auto& file : info->files()) names.insert(to_utf8(file));
  Checksum sum;
  sum.add(fmt::format("{} {}", to_utf8(info->getDocStoreSegment()), info->getDocStoreOffset()));
  for (const std::string& name : names) {
    const std::string extension = fs::path(name).extension().string();
    if (extension != ".fdt" && extension != ".fdx" && extension != ".cfs" && extension != ".cfx") continue;
    const FileState state = file_state(folder / name);
    sum.add(fmt::format("\n{} {} {}", name, state.size, to_hex(state.sample)));
  }
  return sum.value();
}

}  // namespace

IndexSegments index_segments(const Lucene::IndexReaderPtr& reader) {
  IndexSegments index;
  std::int32_t first = 0;
  for (const auto& leaf : bm25::leaf_readers(reader)) {
    const auto segment = boost::dynamic_pointer_cast<Lucene::SegmentReader>(leaf);
    if (!segment) return {};
    const fs::path folder = folder_of(segment->directory());
    if (folder.empty() || (!index.folder.empty() && folder != index.folder)) return {};
    index.folder = folder;
    const SegmentIdentity identity{to_utf8(segment->getSegmentName()), static_cast<std::uint32_t>(segment->maxDoc()),
                                   contents_of(folder, segment->getSegmentInfo())};
    index.segments.push_back({identity, segment, first});
    first += segment->maxDoc();
  }
  return index;
}

std::vector<SegmentIdentity> identities_of(const IndexSegments& index) {
  std::vector<SegmentIdentity> identities;
  for (const IndexSegment& segment : index.segments) identities.push_back(segment.identity);
  return identities;
}

}  // namespace relucent
