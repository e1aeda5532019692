#pragma once

#include <filesystem>

namespace relucent {

/// The file that contains this code: the shared library, or the program it is linked into. Thread-safe; does not throw
/// for a missing file, but returns an empty path.
std::filesystem::path own_file();

}  // namespace relucent
