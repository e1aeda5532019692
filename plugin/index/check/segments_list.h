#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace relucent::check {

/// What a segments_N file says of one segment; generations of files as Lucene counts them, -1: there is none.
struct SegmentEntry {
  std::string name;
  std::int32_t documents = 0;
  std::int64_t deletions = -1;
  std::int32_t deleted = -1;       ///< -1: not recorded
  std::int32_t first_stored = -1;  ///< of the stored fields shared with other segments; -1: they are its own
  std::string stored_segment;      ///< whose files those are in
  bool stored_compound = false;
  bool one_norms_file = false;
  std::vector<std::int64_t> norms;  ///< of each field's rewritten norms; empty: none was rewritten
  std::int8_t compound = -1;        ///< -1: no; 1: yes; 0: where the file is there
};

/// Reads a segments_N file of Lucene 2.1 to 3.0 without trusting it. Throws Error `invalid_data` for one that is
/// damaged or of another version, `io` for one that cannot be read.
std::vector<SegmentEntry> read_segments_list(const std::filesystem::path& file);

/// The file's name with its generation, as in _0_1.del; empty for generation -1.
std::string with_generation(const std::string& base, const std::string& extension, std::int64_t generation);

}  // namespace relucent::check
