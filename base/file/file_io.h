#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "base/file/unique_fd.h"

/// File access through system calls, with errors that name the file, the operation and the remedy.
/// All functions retry interrupted system calls and are thread-safe.
namespace relucent {

/// Throws Error `io`: "PATH: OPERATION: REASON; remedy". The errno value `error` selects the reason and the remedy (too
/// many open files, no permission, full disk, out of memory ...).
[[noreturn]] void throw_io_error(const std::filesystem::path& path, std::string_view operation, int error);

/// The remedy for a failure message that ends with the system's reason, e.g. "/index/_0.tis: opening: Too many open
/// files"; empty for any other message.
std::string_view remedy_in(std::string_view text);

/// What is at `path`, links followed; of type not_found if nothing is. Throws Error `io` if that cannot be found out,
/// for what a disk refuses to show is not absent.
std::filesystem::file_status status_of(const std::filesystem::path& path);

/// Opens a regular file for reading. Throws Error `io` if it is missing, unreadable or not a regular file.
UniqueFd open_regular_file(const std::filesystem::path& path);

/// Reads up to `capacity` bytes; 0 at the end. Throws Error `io` naming `path`.
std::size_t read_some(int descriptor, char* buffer, std::size_t capacity, const std::filesystem::path& path);

inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

/// A regular file's bytes. Throws Error `io`, and `invalid_data` if the file has more than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

/// Writes all of `bytes`. Throws Error `io` naming `path`.
void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path);

/// Syncs a file's contents, or a directory's entries, to disk; does nothing on file systems that cannot. Throws Error
/// `io`.
void sync_descriptor(int descriptor, const std::filesystem::path& path);
void sync_file(const std::filesystem::path& path);
void sync_directory(const std::filesystem::path& path);

}  // namespace relucent
