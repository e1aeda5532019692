#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file/random_file.h"
#include "relucent/segment_identity.h"
#include "relucent/stop.h"

/// Files next to an index with one record per document: relucent-_N.KIND for the segment _N. docs/formats.md describes
/// them; SegmentRecordsWriter writes them.
namespace relucent {

/// A kind of records: its name in file names, and the command that makes them, which errors name.
struct RecordsKind {
  std::string_view name;
  std::string_view command;
};

/// What the start of a file states about all of it.
struct RecordsHeader {
  SegmentIdentity segment;
  std::uint64_t fingerprint = 0;   ///< of all that decides what the records contain; the kind's own
  std::string settings;            ///< how they are to be read: the kind's own, at most kMaxRecordSettings bytes
  std::uint32_t record_bytes = 0;  ///< of each record that is not empty; 0: each has a length of its own

  friend bool operator==(const RecordsHeader&, const RecordsHeader&) = default;
};

inline constexpr std::size_t kMaxRecordSettings = 4096;
inline constexpr std::uint32_t kMaxRecordBytes = std::uint32_t{1} << 30;

std::filesystem::path records_file(const std::filesystem::path& index, const RecordsKind& kind,
                                   std::string_view segment);

/// A file of records. Opening reads only its start and its end; each record is read when it is asked for, and compared
/// with its checksum. So a file that another program cuts or overwrites meanwhile gives an Error. Thread-safe.
class SegmentRecords {
 public:
  /// Throws Error naming the file and the kind's command: `io` if the file is missing or unreadable, `invalid_data` if
  /// it is truncated, damaged, or of another kind, version or segment.
  static std::shared_ptr<const SegmentRecords> open(const std::filesystem::path& index, const RecordsKind& kind,
                                                    const SegmentIdentity& segment);
  /// The same for a file by itself, of whatever segment.
  static std::shared_ptr<const SegmentRecords> open_file(const std::filesystem::path& file, const RecordsKind& kind);

  const std::filesystem::path& path() const noexcept { return file_.path(); }
  const RecordsHeader& header() const noexcept { return header_; }

  /// A document's record: empty if the document had nothing to record, nullopt if it was deleted when the file was
  /// made. `document` counts within the segment. Throws Error: `usage` for a document that the segment does not have,
  /// `invalid_data` for a damaged record, also of a file that was cut.
  std::optional<std::string> record(std::uint32_t document) const;

  /// Reads the whole file. Throws Error `invalid_data` for the first damage, `interrupted` or `deadline` for `stop`.
  void check_all(const StopSignal& stop = {}) const;

 private:
  SegmentRecords(const std::filesystem::path& file, const RecordsKind& kind);

  /// The file's bytes from `at` on; refuses a file that has become shorter.
  std::string bytes(std::uint64_t at, std::uint64_t count) const;
  [[noreturn]] void refuse(std::string_view problem) const;
  [[noreturn]] void refuse_record(std::uint32_t document) const;
  std::uint64_t place_of(std::uint32_t document) const;

  RandomFile file_;
  RecordsKind kind_;
  RecordsHeader header_;
  std::uint64_t first_ = 0;  ///< where the records begin
  std::uint64_t end_ = 0;    ///< where they end
  std::uint64_t sum_ = 0;    ///< the header's checksum, part of each record's
};

}  // namespace relucent
