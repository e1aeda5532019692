#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/unique_fd.h"
#include "plugin/index_format/records/segment_records.h"

namespace relucent {

/// Keeps other processes that also take it from making or removing records next to the same index. Throws Error `io` if
/// one of them has it.
class RecordsLock {
 public:
  explicit RecordsLock(const std::filesystem::path& index);

 private:
  UniqueFd folder_;
};

/// Writes a file of records, document after document, under its name with ".part" until it is whole. After a kill, a
/// writer with the same header continues where the part ends; the result is the same, byte for byte. One thread at a
/// time. All functions throw Error `io` naming the file.
class SegmentRecordsWriter {
 public:
  /// Keeps what an earlier writer left if it has the same header and is intact. Throws Error `io` also if another
  /// process writes the file, `unsupported` for settings that are too long.
  SegmentRecordsWriter(const std::filesystem::path& index, const RecordsKind& kind, const RecordsHeader& header);

  std::uint32_t documents() const noexcept { return documents_; }  ///< already written; the next one's number

  /// Appends the next document's record: empty for a document that has nothing to record, nullopt for a deleted one.
  /// Throws Error `usage` for a record of another size than the header states, or one too many.
  void add(std::optional<std::string_view> record);
  /// Hands everything to the system, so that a kill loses none of it.
  void flush();
  /// Puts the file in place. Throws Error `usage` unless every document has its record.
  void commit();

 private:
  /// Continues after the intact records of the part, if it is one of this header.
  void resume();

  std::filesystem::path target_, part_;
  RecordsHeader header_;
  std::string header_bytes_;
  std::uint64_t sum_ = 0;
  UniqueFd file_;
  std::uint32_t documents_ = 0;
  std::uint64_t written_ = 0;          ///< bytes in the file
  std::string buffer_;                 ///< those to come
  std::vector<std::uint64_t> places_;  ///< of the records, if they vary in length
};

/// The names of the files of a kind, whole or not, of segments that are not among these. Throws Error `io`.
std::vector<std::string> other_records(const std::filesystem::path& index, const RecordsKind& kind,
                                       const std::vector<SegmentIdentity>& segments);
/// Once a pass has finished: removes them and parts of any segment, and returns their names.
std::vector<std::string> remove_other_records(const std::filesystem::path& index, const RecordsKind& kind,
                                              const std::vector<SegmentIdentity>& segments);

}  // namespace relucent
