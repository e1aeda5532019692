#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/index/check/file_window.h"
#include "plugin/index/check/segments_list.h"

namespace relucent::check {

/// The files of one segment, wherever they are: files of the folder, or parts of compound files.
class SegmentFiles {
 public:
  /// Reads the directories of compound files. Throws Error `invalid_data` for damaged ones.
  SegmentFiles(std::filesystem::path folder, const SegmentEntry& entry);

  /// A file of the segment, or one of the stored fields, by its extension ("fnm"). Throws Error `invalid_data` where it
  /// is missing.
  FileWindow open(const std::string& extension) const;
  FileWindow open_stored(const std::string& extension) const;
  /// A file of the folder that is in no compound file, such as deletions.
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
  std::unique_ptr<const Parts> compound_, stored_;  ///< null: files of the folder
};

/// The names of the folder's files that a segment is made of, those of deletions and rewritten norms too.
std::vector<std::string> names_of_files(const std::filesystem::path& folder, const SegmentEntry& entry);
/// Whether the file is replaced by another one when documents are deleted or norms rewritten, the segment staying as
/// it is.
bool belongs_to_generation(const std::string& name);

}  // namespace relucent::check
