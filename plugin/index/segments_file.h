#pragma once

#include <filesystem>

namespace relucent {

/// Compares the checksum of the newest segments_N file with its bytes, because Lucene++ crashes on some damaged ones. Where
/// an older sound one is beside it (a writer died in the middle of a commit) Lucene++ will find that by itself.
/// Throws Error `invalid_data` where none is sound.
void check_segments_file(const std::filesystem::path& folder);

}  // namespace relucent
