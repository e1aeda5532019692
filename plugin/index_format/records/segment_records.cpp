#include "plugin/index_format/records/segment_records.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/checksum.h"
#include "plugin/index_format/records/records_format.h"
#include "relucent/error.h"

namespace relucent {
namespace {

std::string remedy_of(const RecordsKind& kind) { return fmt::format("run `{}`", kind.command); }

}  // namespace

std::filesystem::path records_file(const std::filesystem::path& index, const RecordsKind& kind,
                                   std::string_view segment) {
  return index / fmt::format("relucent-{}.{}", segment, kind.name);
}

std::shared_ptr<const SegmentRecords> SegmentRecords::open(const std::filesystem::path& index, const RecordsKind& kind,
                                                           const SegmentIdentity& segment) {
  auto records = open_file(records_file(index, kind, segment.name), kind);
  if (records->header_.segment != segment) records->refuse("is of another segment, or of another index");
  return records;
}

std::shared_ptr<const SegmentRecords> SegmentRecords::open_file(const std::filesystem::path& file,
                                                                const RecordsKind& kind) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown) && !unknown) {
    throw Error(ErrorKind::io, file.string(), "is missing", remedy_of(kind));
  }
  return std::shared_ptr<const SegmentRecords>(new SegmentRecords(file, kind));
}

SegmentRecords::SegmentRecords(const std::filesystem::path& file, const RecordsKind& kind) : file_(file), kind_(kind) {
  const auto size = static_cast<std::uint64_t>(file_.size());
  std::string problem;
  auto read = records::read_header(bytes(0, std::min<std::uint64_t>(size, records::kMaxHeader)), problem);
  if (!read) refuse(problem);
  if (read->kind != kind.name) refuse(fmt::format("holds \"{}\", not \"{}\"", read->kind, kind.name));
  header_ = std::move(read->header);
  first_ = read->size;
  sum_ = read->sum;
  // No product or sum overflows: fewer than 2^31 documents of little more than 2^30 bytes.
  const std::uint64_t documents = header_.segment.documents;
  const std::uint64_t places = header_.record_bytes == 0 ? 8 * documents + 8 : 0;
  const std::uint64_t least =
      first_ + documents * (records::kRecordFrame + header_.record_bytes) + places + records::kEnd;
  if (size < least || (header_.record_bytes != 0 && size != least) ||
      records::get64(bytes(size - records::kEnd, records::kEnd), 0) != records::end_mark(sum_, size)) {
    refuse("is truncated or damaged");
  }
  end_ = size - records::kEnd - places;
}

std::string SegmentRecords::bytes(std::uint64_t at, std::uint64_t count) const {
  std::string read(count, '\0');
  if (file_.read(static_cast<std::int64_t>(at), read.data(), count) != count) refuse("has become shorter while open");
  return read;
}

void SegmentRecords::refuse(std::string_view problem) const {
  throw Error(ErrorKind::invalid_data, path().string(), problem, remedy_of(kind_));
}

std::uint64_t SegmentRecords::place_of(std::uint32_t document) const {
  if (header_.record_bytes != 0) return first_ + document * (records::kRecordFrame + header_.record_bytes);
  return records::get64(bytes(end_ + std::uint64_t{document} * 8, 8), 0);
}

std::optional<std::string> SegmentRecords::record(std::uint32_t document) const {
  if (document >= header_.segment.documents) {
    throw Error(ErrorKind::usage, path().string(),
                fmt::format("has no document {}, only {}", document, header_.segment.documents),
                "pass a document of this segment");
  }
  const std::uint64_t place = place_of(document);
  if (place < first_) refuse_record(document);
  auto found = records::find_record(file_, place, end_, header_, sum_, document);
  if (!found) refuse_record(document);
  return std::move(found->record);
}

void SegmentRecords::refuse_record(std::uint32_t document) const {
  refuse(fmt::format("the record of document {} is damaged", document));
}

void SegmentRecords::check_all(const StopSignal& stop) const {
  constexpr std::uint32_t places_at_once = 8192;
  std::uint64_t place = first_;
  std::string places;
  Checksum sum_of_places;
  for (std::uint32_t document = 0; document < header_.segment.documents; ++document) {
    stop.throw_if_due("checking records");
    const auto found = records::find_record(file_, place, end_, header_, sum_, document);
    if (!found) refuse_record(document);
    if (header_.record_bytes == 0) {
      const std::uint32_t at = document % places_at_once;
      if (at == 0) {
        places = bytes(end_ + 8 * std::uint64_t{document},
                       8 * std::uint64_t{std::min(places_at_once, header_.segment.documents - document)});
        sum_of_places.add(places);
      }
      if (records::get64(places, 8 * std::uint64_t{at}) != place) refuse("its records overlap or leave gaps");
    }
    place += found->size;
  }
  if (place != end_) refuse("its records overlap or leave gaps");
  if (header_.record_bytes == 0 &&
      records::get64(bytes(end_ + 8 * std::uint64_t{header_.segment.documents}, 8), 0) != sum_of_places.value()) {
    refuse("its table of records is damaged");
  }
}

}  // namespace relucent
