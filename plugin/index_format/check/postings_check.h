#pragma once

#include <cstdint>
#include <vector>

#include "plugin/index_format/check/file_window.h"
#include "plugin/index_format/check/segment_check.h"

namespace relucent::check {

/// The location of a term's postings according to the term dictionary.
struct TermPlace {
  std::int32_t documents = 0;
  std::int64_t frequencies = 0, positions = 0, skips = 0;
};

/// Checks a term's documents, frequencies, positions and skip list. Throws Error `invalid_data`.
class PostingsCheck {
 public:
  /// `positions` may be null if no field of the segment has positions.
  PostingsCheck(FileWindow frequencies, FileWindow* positions, std::int32_t documents, std::int32_t skip_interval,
                std::int32_t most_skip_levels);

  void check(const TermPlace& place, const FieldEntry& field);

 private:
  /// The content of a skip list entry: a document, and the offsets of the data that follows it.
  struct Place {
    std::int64_t document = 0, frequencies = 0, positions = 0;
  };
  void check_postings(const TermPlace& place, const FieldEntry& field);
  void skip_positions(std::uint32_t count, bool payloads);
  void check_skips(const TermPlace& place, const FieldEntry& field);
  void check_level(int level, std::int64_t count, std::int64_t end, const TermPlace& place, const FieldEntry& field);

  FileWindow frequencies_;
  FileWindow* positions_;
  std::int32_t documents_, skip_interval_;
  int most_levels_;
  std::uint32_t payload_length_ = 0;
  std::vector<Place> places_;                        // before every skip_interval_-th posting
  std::vector<std::vector<std::int64_t>> ends_;      // [levels][entries]: one past each, without its child pointer
  std::vector<std::vector<std::int64_t>> children_;  // [levels][entries]: pointers into the level below
};

}  // namespace relucent::check
