#include "plugin/index_format/records/index_records.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace relucent {

IndexRecords::IndexRecords(const std::filesystem::path& index, const RecordsKind& kind,
                           const std::vector<SegmentIdentity>& segments,
                           const std::function<void(const SegmentRecords&)>& check)
    : kind_(kind) {
  std::int32_t end = 0;
  for (const SegmentIdentity& identity : segments) {
    end += static_cast<std::int32_t>(identity.documents);
    Segment& segment = segments_.emplace_back(Segment{identity, end, nullptr, std::nullopt});
    try {
      auto records = SegmentRecords::open(index, kind, identity);
      check(*records);
      segment.records = std::move(records);
    } catch (const Error& error) {
      segment.problem = error;
      std::error_code unknown;
      segment.absent = !std::filesystem::exists(records_file(index, kind, identity.name), unknown) && !unknown;
    }
  }
}

const IndexRecords::Segment& IndexRecords::segment_of(std::int32_t document) const {
  const auto found = std::ranges::upper_bound(segments_, document, {}, &Segment::end);
  if (document < 0 || found == segments_.end()) {
    throw Error(ErrorKind::usage, fmt::format("document {}", document), "is not in this index",
                "pass hits from a search of this index");
  }
  return *found;
}

std::string IndexRecords::read(std::int32_t document) const {
  const Segment& segment = segment_of(document);
  if (segment.problem) throw Error(*segment.problem);
  auto record = segment.records->record(static_cast<std::uint32_t>(document - segment.first()));
  if (record) return *std::move(record);
  throw Error(ErrorKind::invalid_data, segment.records->path().string(),
              fmt::format("document {} was deleted when the file was made", document - segment.first()),
              fmt::format("remove the file and run `{}`", kind_.command));
}

}  // namespace relucent
