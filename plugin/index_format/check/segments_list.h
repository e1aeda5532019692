#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace relucent::check {

/// A segment's entry in a segments_N file. File generations as in Lucene; -1: no such file.
struct SegmentEntry {
  std::string name;
  std::int32_t documents = 0;
  std::int64_t deletions = -1;
  std::int32_t deleted = -1;       ///< -1: not recorded
  std::int32_t first_stored = -1;  ///< first document in stored fields shared with other segments; -1: not shared
  std::string stored_segment;      ///< the segment whose files hold them
  bool stored_compound = false;
  bool one_norms_file = false;
  /// Generation of each field's rewritten norms. Lucene++ reads an entry for each field unless there is no list.
  std::optional<std::vector<std::int64_t>> norms;
  std::int8_t compound = -1;  ///< -1: no; 1: yes; 0: if the file exists
};

/// Reads a segments_N file of Lucene 2.1 to 3.0 without trusting it. Throws Error `invalid_data` if it is damaged or of
/// another version, `io` if it cannot be read.
std::vector<SegmentEntry> read_segments_list(const std::filesystem::path& file);

/// A file name with its generation, e.g. _0_1.del; empty for generation -1.
std::string with_generation(const std::string& base, const std::string& extension, std::int64_t generation);

}  // namespace relucent::check
