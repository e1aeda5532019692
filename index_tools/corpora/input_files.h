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
  bool found_in_folder = false;  ///< not named itself, so it may be an archive of something else
  std::string below = {};        ///< path below the folder that was named; the file's name where it was named itself
  bool stream = false;           ///< a pipe or standard input, whose content can be read once
};

/// The files that a command line's inputs stand for.
struct InputFiles {
  std::vector<InputFile> files;
  std::int64_t left_out = 0;  ///< files in folders whose names match no pattern
  /// Links in folders that lead nowhere or back to a folder around them: "PATH (why)". Of those that lead nowhere only
  /// the ones whose names match.
  std::vector<std::string> broken_links = {};
};

/// Files as they are, folders with everything below them, patterns (* ? [...]) as a shell would, in the order given and
/// by name within a folder or pattern. In a folder only files whose names match one of `patterns` once compression
/// suffixes are dropped, and archives, are taken; links are followed. A pipe, or "-" for standard input, must be named
/// itself. Throws Error where an input stands for no file, and naming it where a folder below it cannot be read.
InputFiles find_input_files(const std::vector<std::string>& inputs, const std::vector<std::string>& patterns);

/// Whether the last part of `path`, as it is or without .gz, .bz2, .xz, .lzma, .zst or .Z, matches one of `patterns`
/// (case ignored). A pattern with folders in it ("FT/*/FT*") is compared with as many of the last parts.
bool name_matches(std::string_view path, const std::vector<std::string>& patterns);
/// Whether the name is that of a tar or zip container, compressed or not.
bool names_container(std::string_view path);

}  // namespace relucent::index_tools
