#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/index_format/records/segment_records.h"
#include "relucent/error.h"

namespace relucent {

/// The records of one kind of all segments of an index, as one state of it was opened. Thread-safe.
class IndexRecords {
 public:
  struct Segment {
    SegmentIdentity identity;
    std::int32_t end = 0;                           ///< the number after its last document's
    std::shared_ptr<const SegmentRecords> records;  ///< null if there is a problem
    std::optional<Error> problem;
    bool absent = false;  ///< the problem is that there is no file

    std::int32_t first() const { return end - static_cast<std::int32_t>(identity.documents); }
  };

  /// Opens the segments' files. Never throws for a file that is missing, damaged or refused by `check`, which throws
  /// Error: Segment::problem names it.
  IndexRecords(const std::filesystem::path& index, const RecordsKind& kind,
               const std::vector<SegmentIdentity>& segments, const std::function<void(const SegmentRecords&)>& check);

  const std::vector<Segment>& segments() const noexcept { return segments_; }  ///< in document order

  /// The segment of a document, by its number in the index. Throws Error `usage` if the index does not have it.
  const Segment& segment_of(std::int32_t document) const;
  /// A document's record; empty if the document had nothing to record. Throws Error: its segment's problem, and
  /// `invalid_data` for a record that is damaged or of a document that was deleted when the file was made.
  std::string read(std::int32_t document) const;

 private:
  RecordsKind kind_;
  std::vector<Segment> segments_;
};

}  // namespace relucent
