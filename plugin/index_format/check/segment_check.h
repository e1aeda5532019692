#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/index_format/check/segment_files.h"

namespace relucent::check {

/// A field's entry in a segment's .fnm file.
struct FieldEntry {
  std::string name;
  bool indexed = false, no_norms = false, payloads = false, no_frequencies = false;
};

// Each function reads files of Lucene 2.4 to 3.0 from start to end. Lucene++ checks next to nothing, so they throw
// Error `invalid_data` naming the file and the byte for anything it could not read safely.

std::vector<FieldEntry> check_fields(const SegmentFiles& files);
/// Documents, their fields and the fields' lengths.
void check_stored_fields(const SegmentFiles& files, const std::vector<FieldEntry>& fields);
/// Checks that each document has norms.
void check_norms(const SegmentFiles& files, const std::vector<FieldEntry>& fields);
/// Terms and their index, postings, positions and skip lists.
void check_terms(const SegmentFiles& files, const std::vector<FieldEntry>& fields);
void check_deletions(const SegmentFiles& files);

/// All of the above, one pass over all files.
void check_segment(const std::filesystem::path& folder, const SegmentEntry& entry);
/// Checks only what changes when documents are deleted or norms rewritten.
void check_generations(const std::filesystem::path& folder, const SegmentEntry& entry);

}  // namespace relucent::check
