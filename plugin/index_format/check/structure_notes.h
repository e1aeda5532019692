#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace relucent::check {

/// Which files of an index this machine has checked or written itself, so that their structure is not checked at each
/// opening. Whoever makes an index can forge what lies in its folder, checksums included, so the notes lie in the
/// user's cache folder, and name each file by device, inode, size, time of modification and time of change (which no
/// archive and no copy can set): a copy or a changed file is another file. Without a cache folder they last as long as
/// the process. One thread at a time per object; several objects may be used concurrently.
class StructureNotes {
 public:
  /// Reads the notes about the index in `folder`. Damaged notes count as missing.
  explicit StructureNotes(const std::filesystem::path& folder);

  /// The files as they are now. Take them before the check, so that what changes meanwhile is not noted.
  /// Throws Error `io` if one cannot be opened.
  using Files = std::set<std::string>;
  Files files(const std::vector<std::string>& names) const;

  bool has(const Files& files) const;
  /// Notes files as sound.
  void add(const Files& files) { now_.insert(files.begin(), files.end()); }
  /// Replaces the notes about the index by what was added. A cache folder that cannot be written is not an error.
  void keep();

 private:
  std::filesystem::path folder_, file_;  ///< file_: empty without a cache folder
  Files before_, now_;
};

}  // namespace relucent::check
