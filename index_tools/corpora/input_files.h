#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace relucent::index_tools {

/// A file to read.
struct InputFile {
  std::filesystem::path path;
  std::int64_t size = 0;         ///< bytes on disk; 0 for a stream
  std::int64_t modified_ns = 0;  ///< since the epoch
  bool found_in_folder = false;  ///< not named explicitly, so it may be an unrelated archive
  std::string below = {};        ///< path below the named folder; the file's name if the file itself was named
  bool stream = false;           ///< a pipe or standard input, which can be read only once
};

/// The files that the inputs on a command line refer to.
struct InputFiles {
  std::vector<InputFile> files;
  std::int64_t left_out = 0;  ///< files in folders that match no pattern
  /// Links in folders that are dangling or lead back to a folder that contains them: "PATH (why)". Dangling links count
  /// only if their names match.
  std::vector<std::string> broken_links = {};
};

/// Expands inputs: files, folders with everything below them, and shell patterns (* ? [...]), in the order given and by
/// name within a folder or pattern. In a folder, archives count and files whose names, without compression suffixes,
/// match one of `patterns`; links are followed. A pipe, or "-" for standard input, must be named explicitly. Throws
/// Error if an input matches no file or a folder below it cannot be read.
InputFiles find_input_files(const std::vector<std::string>& inputs, const std::vector<std::string>& patterns);

/// Whether the last component of `path`, with or without .gz, .bz2, .xz, .lzma, .zst or .Z, matches one of `patterns`
/// (ignoring case). A pattern with folders ("FT/*/FT*") is compared with as many of the last components.
bool name_matches(std::string_view path, const std::vector<std::string>& patterns);
/// Whether the name has the suffix of a tar or zip container, compressed or not.
bool names_container(std::string_view path);
/// Whether the name has the suffix of a compressed file.
bool names_compressed(std::string_view path);

}  // namespace relucent::index_tools
