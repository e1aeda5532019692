#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file/random_file.h"
#include "plugin/index_format/records/segment_records.h"

/// The bytes of a file of records, shared by its reader and its writer. Numbers are little-endian.
///
///   header   "relucent records", version, length of the header, record_bytes, documents, contents, fingerprint,
///            kind, segment's name, settings (each with its length), checksum
///   records  one per document: length (kSkipped: deleted), bytes (padded with zeros to record_bytes), checksum
///   places   unless record_bytes is given: where each record starts, checksum
///   end      the checksum of the header's checksum and the length of the file
namespace relucent::records {

inline constexpr std::string_view kMagic = "relucent records";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kSkipped = 0xFFFFFFFF;
inline constexpr std::uint64_t kRecordFrame = 4 + 8;  ///< bytes of a record besides its own
inline constexpr std::uint64_t kEnd = 8;
inline constexpr std::uint64_t kMaxHeader = kMaxRecordSettings + 2048;

void put32(std::string& to, std::uint32_t value);
void put64(std::string& to, std::uint64_t value);
std::uint32_t get32(std::string_view bytes, std::uint64_t at) noexcept;
std::uint64_t get64(std::string_view bytes, std::uint64_t at) noexcept;

/// Throws Error `unsupported` for settings that are too long.
std::string header_bytes(const RecordsHeader& header, const RecordsKind& kind);

/// A header as read.
struct ReadHeader {
  RecordsHeader header;
  std::string kind;
  std::uint64_t size = 0, sum = 0;
};
/// Sets `problem` and returns nothing for bytes that do not start with an intact header of this version.
std::optional<ReadHeader> read_header(std::string_view bytes, std::string& problem);

/// Appends a document's record; nullopt: it was deleted.
void put_record(std::string& to, const RecordsHeader& header, std::uint64_t header_sum, std::uint32_t document,
                std::optional<std::string_view> record);

/// A record as read; `size` is that of its frame.
struct ReadRecord {
  std::optional<std::string_view> record;
  std::uint64_t size = 0;
};
/// The record of `document` at the start of `bytes`; nothing if it is damaged or does not fit.
std::optional<ReadRecord> read_record(std::string_view bytes, const RecordsHeader& header, std::uint64_t header_sum,
                                      std::uint32_t document) noexcept;

/// The same at byte `at` of a file whose records end at `end`, or of one that has become shorter since.
struct FoundRecord {
  std::optional<std::string> record;
  std::uint64_t size = 0;
};
std::optional<FoundRecord> find_record(const RandomFile& file, std::uint64_t at, std::uint64_t end,
                                       const RecordsHeader& header, std::uint64_t header_sum, std::uint32_t document);

std::uint64_t end_mark(std::uint64_t header_sum, std::uint64_t file_size);

}  // namespace relucent::records
