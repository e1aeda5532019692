#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/index_format/check/file_window.h"
#include "plugin/index_format/check/segments_list.h"

namespace relucent::check {

/// The files of one segment, either separate or inside compound files.
class SegmentFiles {
 public:
  /// Reads the directories of compound files. Throws Error `invalid_data` for damaged ones.
  SegmentFiles(std::filesystem::path folder, const SegmentEntry& entry);

  /// A file of the segment, or of the stored fields, by its extension ("fnm"). Throws Error `invalid_data` if it is
  /// missing.
  FileWindow open(const std::string& extension) const;
  FileWindow open_stored(const std::string& extension) const;
  /// A file that is never part of a compound file, such as deletions.
  FileWindow open_loose(const std::string& name) const;
  bool has(const std::string& extension) const;

  const SegmentEntry& entry() const { return entry_; }

 private:
  struct Part {
    std::shared_ptr<const RandomFile> file;
    std::int64_t start = 0, length = 0;
  };
  using Parts = std::map<std::string, Part>;
  Parts read_compound(const std::string& name) const;
  FileWindow open(const Parts* compound, const std::string& name) const;

  std::filesystem::path folder_;
  const SegmentEntry& entry_;
  std::unique_ptr<const Parts> compound_, stored_;  ///< null: separate files
};

/// The names of a segment's files in the folder, including deletions and rewritten norms.
std::vector<std::string> names_of_files(const std::filesystem::path& folder, const SegmentEntry& entry);
/// Whether deleting documents or rewriting norms replaces the file with one of a new generation.
bool belongs_to_generation(const std::string& name);

}  // namespace relucent::check
